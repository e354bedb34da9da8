import type { Config } from '../config';
import { listDead } from '../deadLetters/list';
import { ReconcileError } from '../errors';
import { openDatabase, type Database } from '../postgres/database';
import { overNats } from './connect';
import { countOpen, type OpenCounts } from './countOpen';
import { Handlings } from './handlings';
import { readDoneRows, type DoneRow } from './readRows';
import { readRecorded, readStart, type Recorded, type Start } from './readStart';
import { verdictOf, type LostEvent, type Reconciliation } from './result';
import { StreamSide } from './streamSide';
import { Tally } from './tally';

export interface ReconcileOptions {
  /**
   * Only events that became due at this time or later, ISO 8601 with a zone. Counts of what is under way, and of dead
   * letters, are of the whole outbox.
   */
  readonly since?: string;
  /** Ids kept of each class; all are counted. Default 20. */
  readonly limit?: number;
  /** Told after each page that was read. */
  readonly onProgress?: (read: { readonly messages: number; readonly events: number }) => void;
}

const DEFAULT_LIMIT = 20;

/**
 * Compares outbox, stream and handlers by event id, and says what is lost, doubled or unhandled. Only reads, over a pool
 * of one connection and a consumer of its own: neither relay nor handlers notice, and they may run meanwhile.
 *
 * Limits, beside those that `NotJudged` counts: rows that `drainOnce` published elsewhere are not in the stream, and lost.
 *
 * @param config as `loadConfig` reads it
 * @throws ReconcileError when there is nothing to compare with; RangeError for unusable options; what `pg` throws
 */
export async function reconcile(config: Config, options: ReconcileOptions = {}): Promise<Reconciliation> {
  const db = openDatabase({
    url: config.databaseUrl,
    schema: config.schema,
    poolSize: 1,
    applicationName: 'temporal-outbox reconcile',
  });
  try {
    return await compare(db, config, options);
  } finally {
    await db.close();
  }
}

/**
 * The same over a pool that is open. The order of reading is what keeps a running system from looking faulty.
 *
 * 1. The recorded set, the database's time and what is open. Whatever is done later is not looked at.
 * 2. How far the handlers' consumer has acknowledged, then how far the stream goes.
 * 3. The stream up to there. Of what was acknowledged by step 2, ledger or deliveries were written before that, so a
 *    handling that is missing now was never there.
 * 4. How far back the stream goes by now, as its limits go on dropping.
 * 5. The rows that were done by step 1. Each was stored before that, so before the end of the stream was taken: one that
 *    step 3 did not meet, and that the limits of step 4 would have kept, is lost.
 * 6. The recorded set and what is open, again: a handler may have been forgotten, and one that was at work in step 1 may
 *    have failed before steps 3 or 5 came to its event.
 *
 * Each step holds a connection for single statements only, and none while the broker is talked to.
 */
export async function compare(db: Database, config: Config, options: ReconcileOptions = {}): Promise<Reconciliation> {
  const { onProgress = () => undefined } = options;
  const wanted = { sinceMs: sinceOf(options.since), limit: limitOf(options.limit), onProgress };
  if (config.backend === 'nats' && config.nats.mode === 'core') {
    throw new ReconcileError(
      'no-stream',
      'NATS_MODE=core stores nothing, so there is no stream to compare with: see `outbox status` and `outbox dead list`.',
    );
  }
  const recorded = await readRecorded(db);
  const start = { ...(await readStart(db)), recorded };
  const open = await countOpen(db);
  if (config.backend === 'db') return compareSides(db, config, wanted, start, open, undefined);
  return overNats(config.nats, async (connection) => {
    const stream = await StreamSide.open(db, connection, config.nats, wanted.limit);
    return compareSides(db, config, wanted, start, open, stream);
  });
}

async function compareSides(
  db: Database,
  config: Config,
  { sinceMs, limit, onProgress }: Required<Omit<ReconcileOptions, 'since'>> & { readonly sinceMs: number | null },
  start: Start & { readonly recorded: Recorded },
  open: OpenCounts,
  stream: StreamSide | undefined,
): Promise<Reconciliation> {
  const handlings = new Handlings(db, start.recorded, config.handling.retentionMs, limit);
  await stream?.read(handlings, sinceMs, (messages) => onProgress({ messages, events: 0 }));
  const keeping = await stream?.keeping();

  const lost = new Tally<LostEvent>(limit);
  let [events, notKept] = [0, 0];
  const publishedAfterMs = Math.max(keeping?.publishedAfterMs ?? -Infinity, start.identifiedMs);
  // A message may be gone while it is at work: that long after, nobody has it in hand any more.
  const inHandMs = start.nowMs - config.handling.maxLeaseMs;
  for await (const page of readDoneRows(db, { lastId: start.lastId, untilMs: start.nowMs, sinceMs })) {
    events += page.length;
    onProgress({ messages: stream?.messages ?? 0, events });
    if (!stream || !keeping) {
      await handlings.check(page.map((row) => ({ ...keyOf(row), state: 'finished' })));
      continue;
    }
    const gone = page.filter((row) => !stream.holds(row));
    for (const row of gone) {
      const { eventId, eventType, publishedAt } = row;
      if (row.dueMs > keeping.dueAfterMs && row.publishedMs > publishedAfterMs)
        lost.add({ eventId, eventType, publishedAt });
      else notKept++;
    }
    const stateOf = (row: DoneRow) => (row.publishedMs <= inHandMs && stream.wouldGive(row) ? 'finished' : 'unsure');
    await handlings.check(gone.map((row) => ({ ...keyOf(row), state: stateOf(row) })));
  }

  const unhandled = handlings.settle(await readRecorded(db));
  // What failed or died after the first count, and before it was looked at, is in neither.
  const later = await countOpen(db);
  const deadCount = Math.max(open.dead, later.dead, handlings.dead);
  const letters = deadCount > 0 ? await listDead(db.pool, { schema: db.schema, limit }) : [];
  const { dead: _, ...counts } = open;
  const deliveries = Math.max(open.deliveries, later.deliveries, handlings.waiting);
  const found = {
    lost: lost.found,
    doubled: stream?.doubled.found ?? { count: 0, shown: [] },
    unhandled,
    dead: {
      count: deadCount,
      shown: letters.map(({ eventId, eventType, handler, reason }) => ({ eventId, eventType, handler, reason })),
    },
    underWay: { ...counts, deliveries, handlings: handlings.underWay },
  };
  return {
    verdict: verdictOf(found),
    backend: config.backend,
    schema: db.schema,
    stream: stream ? config.nats.stream : null,
    asOf: new Date(start.nowMs).toISOString(),
    since: sinceMs === null ? null : new Date(sinceMs).toISOString(),
    checked: { events, messages: stream?.messages ?? 0, handlings: handlings.checked },
    ...found,
    foreign: stream?.foreign ?? 0,
    notJudged: { published: notKept, handlings: handlings.notJudged },
  };
}

function keyOf({ eventId, eventType, dueMs }: DoneRow) {
  return { eventId, eventType, dueMs };
}

function sinceOf(since: string | undefined): number | null {
  if (since === undefined) return null;
  const ms = /(Z|[+-]\d{2}:?\d{2})$/.test(since) ? Date.parse(since) : NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new RangeError(`since ${JSON.stringify(since.slice(0, 100))} is no time; write it in ISO 8601, with its zone`);
}

function limitOf(limit = DEFAULT_LIMIT): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= 2_147_483_647) return limit;
  throw new RangeError(`limit must be a whole number from 1, not ${String(limit)}`);
}
