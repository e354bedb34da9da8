import type { Command } from 'commander';
import type { FoundMessage } from '../broker/findMessage';
import { uuid } from '../cli/arguments';
import { withDatabase } from '../cli/database';
import { connectDeliveryRun, runPage } from '../cli/deliveryRun';
import { handlerStates, renderEvent, type EventPage } from '../cli/eventPage';
import { CommandFailure, sentenceOf } from '../cli/failure';
import { print, printJson } from '../cli/output';
import { addManual } from '../cli/manual';
import { DATABASE, NATS, TEMPORAL } from '../cli/variables';
import { loadConfig, type Config } from '../config';
import { lookUpEvent, type FoundEvent } from '../deliveries/lookUp';

export function addShow(program: Command): void {
  const verb = program
    .command('show')
    .summary('show all that is known of one event')
    .description(
      'Shows one event on one page: its row in the outbox, its place in the stream, what each handler made of it, and its delivery run. The body is not shown, and of headers only their names. When PostgreSQL, Temporal or NATS is away, the rest is shown all the same.',
    )
    .argument('<event_id>', 'the event id, a UUID', uuid)
    .option('--json', 'print the page as a JSON object')
    .action(runShow);
  addManual(verb, {
    environment: [...DATABASE, 'EVENT_BUS_BACKEND', ...NATS, ...TEMPORAL, 'TEMPORAL_UI_URL'],
    exits: { 0: 'something is known of it', 1: 'nothing is known of it, or nobody could be asked' },
    examples: [
      ['outbox show 5f0c7b0e-2f43-4c0e-9d58-0d8f3a5f8a11', 'what became of this event?'],
      ['outbox show 5f0c7b0e-2f43-4c0e-9d58-0d8f3a5f8a11 --json', 'for a program'],
    ],
    seeAlso: ['waiting', 'retry', 'reemit', 'skip'],
  });
}

async function runShow(eventId: string, options: { json?: boolean }): Promise<void> {
  const config = loadConfig();
  const [database, run] = await Promise.all([readDatabase(config, eventId), readRun(config, eventId)]);
  const unknown = database.available && !database.found;
  if (unknown && !options.json) throw notKnown(config, eventId);
  const found = database.available ? database.found : undefined;
  const page: EventPage = {
    eventId,
    database: !database.available
      ? database
      : {
          available: true,
          ...(found ?? { row: null, ledger: [], deliveries: [], recorded: {} }),
          handlers: found ? handlerStates(found) : [],
        },
    run,
    stream: await readStream(config, eventId, database),
  };
  if (options.json) printJson(page);
  else print(renderEvent(page));
  if (unknown) throw notKnown(config, eventId);
  if (!database.available && !(run.available && run.state)) {
    throw new CommandFailure('Neither PostgreSQL nor Temporal could say anything of this event.');
  }
}

function notKnown(config: Config, eventId: string): CommandFailure {
  return new CommandFailure(`Nothing is known of the event ${eventId} in schema ${config.schema}.`);
}

type Read = { available: true; found: FoundEvent | undefined } | { available: false; reason: string };

async function readDatabase(config: Config, eventId: string): Promise<Read> {
  try {
    return { available: true, found: await withDatabase(config, (db) => lookUpEvent(db, eventId)) };
  } catch (error) {
    return { available: false, reason: sentenceOf(error) };
  }
}

async function readRun(config: Config, eventId: string): Promise<EventPage['run']> {
  try {
    const link = await connectDeliveryRun(config, eventId);
    try {
      const { workflowId, address, namespace } = link;
      const page = runPage(address, namespace, workflowId);
      return { available: true, workflowId, link: page, state: await link.describe() };
    } finally {
      await link.close();
    }
  } catch (error) {
    return { available: false, reason: sentenceOf(error) };
  }
}

async function readStream(config: Config, eventId: string, database: Read): Promise<FoundMessage> {
  const none = (reason: string): FoundMessage => ({ kind: 'not found', reason });
  if (!database.available) return none('the time to look from stands in PostgreSQL');
  const { row, deliveries } = database.found ?? { row: null, deliveries: [] };
  if (!row) return none(deliveries[0] ? `it came as ${deliveries[0].source}` : 'nothing tells its subject');
  if (config.backend === 'db') return none('EVENT_BUS_BACKEND=db uses no stream');
  if (config.nats.mode === 'core') return none('NATS_MODE=core keeps no stream');
  if (row.publishedAt === null) return none('it has not been published');
  const { findMessage } = await import('../broker/findMessage.js');
  const { eventType, aggregateType, publishedAt } = row;
  return findMessage(config, { eventId, eventType, aggregateType, publishedAt });
}
