/*
 * Handling without Temporal and broker, as one would write it by hand: claim rows, handle them in groups that share a
 * transaction with the ledger, mark them done, next. The same handler, the same statements, as many transactions at a
 * time and as large as the worker's (src/handlers/transactionalLane.ts). A process of its own; says `ready`, and drains
 * the outbox once for every message that it is sent.
 */
import { loadConfig } from '../../src/config';
import type { ClaimedEvent } from '../../src/event';
import type { Handler } from '../../src/handlers/defineHandler';
import type { Runner } from '../../src/ledger/finish';
import { builtDatabase, builtLedgerClaim, builtLedgerFinish, builtReadEvent } from '../build';
import { serveDrains } from '../serveDrains';

const config = loadConfig();
const db = builtDatabase().openDatabase({ url: config.databaseUrl, schema: config.schema, poolSize: config.poolSize });
const { claimLedger } = builtLedgerClaim();
const { finishLedger } = builtLedgerFinish();
const { readEvent } = builtReadEvent();

const GROUP = config.handling.concurrency;
const AT_A_TIME = Math.max(1, Math.min(config.handling.concurrency, config.poolSize - 2));
/** As the worker claims for a transactional handler: the claim need not be on disk before the effect is. */
const HOW = { ...config.handling, relaxed: true };

async function main(): Promise<void> {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- written when the bench starts
  const { handlers } = require(process.env.BENCH_HANDLERS ?? '') as { handlers: readonly Handler[] };
  const handler = handlers.find(({ name }) => name === 'orders');
  if (!handler?.transactional) throw new Error('there is no transactional handler `orders`');
  await serveDrains(db, config, (events) => handleAll(handler, events));
}

type Transactional = Handler & { transactional: true };

async function handleAll(handler: Transactional, events: readonly ClaimedEvent[]): Promise<void> {
  let next = 0;
  const one = async () => {
    while (next < events.length) {
      const group = events.slice(next, next + GROUP);
      next += GROUP;
      await handleGroup(handler, group);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, one));
}

async function handleGroup(handler: Transactional, events: readonly ClaimedEvent[]): Promise<void> {
  const keys = events.map(({ eventId }) => ({ eventId, handler: handler.name }));
  const { verdicts } = await claimLedger(db, keys, HOW);
  const claims = keys.map((key, index) => {
    const verdict = verdicts[index];
    if (verdict?.kind !== 'claimed') throw new Error(`the ledger refused an event: ${verdict?.kind ?? 'no answer'}`);
    return { ...key, startedAt: verdict.startedAt };
  });
  const tx = await db.pool.connect();
  try {
    await tx.query('BEGIN');
    for (const event of events) {
      const reading = await readEvent(handler, event);
      if (reading.kind !== 'ready') throw new Error(`an event cannot be read: ${reading.kind}`);
      await handler.run(reading.event, { tx, signal: NEVER, attempt: 1 });
    }
    const run: Runner = (text, values) => tx.query(db.prepare(text, values));
    if ((await finishLedger(run, claims)).size !== claims.length) throw new Error('a ledger claim was lost');
    await tx.query('COMMIT');
  } finally {
    tx.release();
  }
}

const NEVER = new AbortController().signal;

main().catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});
