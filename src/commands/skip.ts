import type { Command } from 'commander';
import { uuid } from '../cli/arguments';
import { withDatabase } from '../cli/database';
import { connectDeliveryRun } from '../cli/deliveryRun';
import { CommandFailure, sentenceOf, wrongUse } from '../cli/failure';
import { note, print, printJson } from '../cli/output';
import { addManual } from '../cli/manual';
import { DATABASE, TEMPORAL } from '../cli/variables';
import { loadConfig, type Config } from '../config';
import { lookUpEvent } from '../deliveries/lookUp';
import { settleRow } from '../deliveries/settleRow';
import { skipDelivery, type SkipResult } from '../deliveries/skip';
import type { Database } from '../postgres/database';

interface SkipOptions {
  handler: string;
  reason: string;
  json?: boolean;
}

export function addSkip(program: Command): void {
  const verb = program
    .command('skip')
    .summary('give a handler of one event up on purpose')
    .description(
      'Gives one handler of one event up, whether it waits, is dead or has not begun: it will not run for this event any more. The reason is kept. Works without Temporal.',
    )
    .argument('<event_id>', 'the event id, a UUID', uuid)
    .requiredOption('--handler <name>', 'the handler')
    .requiredOption('--reason <text>', 'why; kept with the event')
    .option('--json', 'print the result as JSON')
    .action(runSkip);
  addManual(verb, {
    environment: [...DATABASE, ...TEMPORAL],
    exits: {
      0: 'it will not run, or has its effect already',
      1: 'the handler is at work on the event this moment, or event or handler are not known',
    },
    examples: [
      [
        'outbox skip 5f0c7b0e-2f43-4c0e-9d58-0d8f3a5f8a11 --handler send-mail \\\n  --reason "the address was deleted"',
        'no mail for this one',
      ],
    ],
    seeAlso: ['show', 'reemit', 'forget'],
  });
}

async function runSkip(eventId: string, options: SkipOptions): Promise<void> {
  const { handler, reason } = options;
  if (reason.trim() === '') throw wrongUse('--reason is empty: say why, it is all that will tell later.');
  const config = loadConfig();
  const result = await withDatabase(config, (db) => skip(db, config, eventId, handler, reason));
  if (result === 'skipped') await tellRun(config, eventId, handler);
  if (options.json) printJson({ eventId, handler, result });
  switch (result) {
    case 'skipped':
      if (!options.json) print(`Skipped: ${handler} will not run for the event ${eventId}.`);
      return;
    case 'already handled':
      if (!options.json) print(`Nothing to skip: ${handler} is done with the event ${eventId}.`);
      return;
    case 'running':
      throw new CommandFailure(
        `Not skipped: ${handler} is at work on the event ${eventId} this moment. Try again when it has ended, or its lease is over.`,
      );
    case 'unknown':
      throw new CommandFailure(`Nothing is known of the event ${eventId} in schema ${config.schema}.`);
  }
}

async function skip(
  db: Database,
  config: Config,
  eventId: string,
  handler: string,
  reason: string,
): Promise<SkipResult> {
  const found = await lookUpEvent(db, eventId);
  // A misspelled name would be skipped without effect, and the real handler would run.
  if (found && !knows(found, handler)) {
    const names = Object.keys(found.recorded).join(', ') || 'none';
    throw new CommandFailure(`No handler ${handler} is recorded, and none has touched this event. Recorded: ${names}.`);
  }
  const { maxLeaseMs } = config.handling;
  const result = await skipDelivery(db, eventId, handler, reason, { maxLeaseMs });
  if (result === 'skipped') await settleRow(db, [eventId]);
  return result;
}

type Found = NonNullable<Awaited<ReturnType<typeof lookUpEvent>>>;

function knows({ recorded, ledger, deliveries }: Found, handler: string): boolean {
  return Object.hasOwn(recorded, handler) || [...ledger, ...deliveries].some((each) => each.handler === handler);
}

/** The run finds at its next attempt that there is nothing to do; this lets it look now. */
async function tellRun(config: Config, eventId: string, handler: string): Promise<void> {
  try {
    const link = await connectDeliveryRun(config, eventId);
    try {
      await link.retryNow(handler);
    } finally {
      await link.close();
    }
  } catch (error) {
    note(`The delivery run was not told, and finds out at its next attempt: ${sentenceOf(error)}`);
  }
}
