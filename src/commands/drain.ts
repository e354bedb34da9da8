import type { Command } from 'commander';
import type { Broker, Outcome } from '../broker';
import { positive } from '../cli/arguments';
import { withDatabase } from '../cli/database';
import { CommandFailure } from '../cli/failure';
import { counted, note, print, printJson, warn } from '../cli/output';
import { addManual } from '../cli/manual';
import { DATABASE, NATS } from '../cli/variables';
import { progressCount } from '../cli/progressCount';
import { stopSignal } from '../cli/stopSignal';
import { STUCK_MS, unlessStuck } from '../cli/unlessStuck';
import { loadConfig } from '../config';
import { ExhaustedError, PublishError } from '../errors';
import type { ClaimedEvent } from '../event';
import { createLogger } from '../logger';
import { drainAll, type DrainAllResult } from '../outbox/drain';

interface DrainVerbOptions {
  limit: number;
  maxPasses: number;
  progress: boolean;
  json?: boolean;
}

export function addDrain(program: Command): void {
  const verb = program
    .command('drain')
    .summary('publish what is due once, without Temporal')
    .description(
      'Publishes the events that are due to NATS from this process, and ends: for when Temporal is away, or before it is set up. A relay that runs at the same moment is not disturbed, and not asked: this publishes while the relay is paused, too. What the broker cannot take now stays pending; what it can never take becomes a dead letter. Ctrl-C or SIGTERM ends it after the event that is under way; the others are free at once.',
    )
    .option('--limit <rows>', 'events of one pass', positive, 100)
    .option('--max-passes <passes>', 'end after so many passes', positive, 1_000)
    .option('--no-progress', 'no count while it publishes (there is one on a terminal only)')
    .option('--json', 'print the result as JSON')
    .action(runDrain);
  addManual(verb, {
    environment: [...DATABASE, ...NATS, 'NATS_MODE', 'EVENT_BUS_BACKEND', 'OUTBOX_LEASE_MS'],
    exits: {
      0: 'nothing that was due is left',
      1: 'events that are due are left: the broker is away or could not take one now, there were more than --max-passes takes, or it was interrupted; the reason is on stderr',
    },
    examples: [
      ['outbox drain', 'publish what is due, with Temporal away'],
      ['outbox drain --limit 1000 --json', 'larger passes, and the counts for a program'],
    ],
    seeAlso: ['status', 'worker', 'dead list'],
  });
}

async function runDrain(options: DrainVerbOptions): Promise<void> {
  const config = loadConfig();
  if (config.backend === 'db') {
    throw new CommandFailure(
      'EVENT_BUS_BACKEND=db has no broker to publish to: events are handled by a worker (`outbox worker --handlers <module>`).',
    );
  }
  const logger = createLogger(config.logLevel);
  const stop = stopSignal(() => note('Ending with the event that is under way.'));
  const { openBroker } = await import('../broker/index.js');
  const broker = await openBroker(config, logger);
  try {
    const away = await broker.ready();
    if (away !== null) throw new CommandFailure(`Nothing was published: ${away}.`);
    let lastReason: string | undefined;
    let tried = 0;
    const count = progressCount(options.progress);
    const draining = withDatabase(config, (db) =>
      drainAll(db.pool, {
        schema: config.schema,
        limit: options.limit,
        maxPasses: options.maxPasses,
        leaseMs: config.relay.leaseMs,
        signal: stop,
        publish: async (event) => {
          count.update(`${counted(++tried, 'event')} tried`);
          await publishOne(broker, event);
        },
        warn: (message, { reason }) => {
          lastReason = reason;
          warn(`${message} (${reason})`);
        },
      }),
    );
    // The event that is under way has its own time-out; then a few statements are written.
    const stuckMs = STUCK_MS + config.nats.publishTimeoutMs;
    const result = await unlessStuck(
      draining,
      stop,
      stuckMs,
      () =>
        new CommandFailure(
          'Interrupted, and PostgreSQL or NATS does not answer: what is still claimed is free after OUTBOX_LEASE_MS.',
        ),
    ).finally(count.stop);
    if (options.json) printJson(result);
    else {
      print(`Published ${counted(result.published, 'event')}.`);
      if (result.dead > 0) print(`${counted(result.dead, 'event')} became dead letters: see \`outbox dead list\`.`);
    }
    const left = whyLeft(result, stop, lastReason);
    if (left !== undefined) throw new CommandFailure(left);
  } finally {
    await broker.close();
  }
}

/** @returns undefined when nothing that was due is left */
function whyLeft(result: DrainAllResult, stop: AbortSignal, lastReason: string | undefined): string | undefined {
  const { leftPending, moreDue } = result;
  if (leftPending === 0 && !moreDue) return undefined;
  if (stop.aborted) return 'Interrupted. What was not published is free: run it again for the rest.';
  if (leftPending > 0) return `${counted(leftPending, 'event')} left pending: ${lastReason ?? 'see the warnings'}.`;
  return 'More events are due: run it again, or with a larger --max-passes or --limit.';
}

async function publishOne(broker: Broker, event: ClaimedEvent): Promise<void> {
  let outcome: Outcome | undefined;
  await broker.publish([event], (_, settled) => (outcome = settled));
  switch (outcome?.kind) {
    case 'published':
      return;
    case 'refused':
      throw new ExhaustedError(outcome.reason);
    case 'away':
      // For this event and for all others: the pass is over.
      throw new CommandFailure(`The flush was cut short: ${outcome.reason}.`);
    case 'later':
    case 'unanswered':
      throw new PublishError(outcome.reason);
    case 'handed over':
    case undefined:
      throw new PublishError('the broker client gave no answer');
  }
}
