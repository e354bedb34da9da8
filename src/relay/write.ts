import type { Config } from '../config';
import { settleRow } from '../deliveries/settleRow';
import { bury, defer, free, freeDeferred, markDone, markSomeDone, putBackProbe, retry } from '../outbox/settle';
import { wakeChannel } from '../postgres/channel';
import type { Database } from '../postgres/database';
import type { Batch } from './batch';
import type { BatchOutcome, Settled } from './outcome';

/**
 * Writes what became of a batch. Safe to repeat: every statement is conditioned on the token, so a second time finds
 * nothing left to write.
 */
export async function writeOutcome(
  db: Database,
  token: string,
  outcome: BatchOutcome,
  relay: Config['relay'],
): Promise<Settled> {
  const written = { done: 0, deferred: 0, dead: 0, returned: 0, retrying: 0 };
  let putBack = 0;
  const backoff = { firstMs: relay.backoffFirstMs, maxMs: relay.backoffMaxMs };
  for (const { write, reason, ids } of outcome.exceptions) {
    if (write === 'defer') written.deferred += await defer(db, token, ids, reason, backoff);
    else if (write === 'bury') written.dead += await bury(db, token, ids, reason);
    else if (write === 'put back') putBack += await putBackProbe(db, token, ids);
    else if (write === 'retry') written.retrying += await leaveToRuns(db, token, ids);
    else written.returned += await free(db, token, ids);
  }
  const except = outcome.exceptions.flatMap((exception) => exception.ids);
  if (outcome.published > 0) written.done = await markDone(db, token, except);
  const freed = outcome.recovered.length > 0 ? await freeDeferred(db, outcome.recovered, relay.batchSize) : 0;
  // Not deferred once more by being looked at, so that the count of deferrals says how often events had to wait.
  written.returned += putBack;
  // A claim that sleeps must learn of rows that wait again.
  if (freed > 0 || written.deferred > 0 || written.returned > 0) await notify(db);
  return { ...written, lost: Math.max(0, outcome.published + except.length - sum(written)) };
}

async function leaveToRuns(db: Database, token: string, ids: readonly string[]): Promise<number> {
  const eventIds = await retry(db, token, ids);
  await settleRow(db, eventIds);
  return eventIds.length;
}

/**
 * For a claim that ends early: what is acknowledged is done, all else is pending again, at once. A row whose publish
 * is still open is published again under the same id.
 */
export async function releaseBatch(db: Database, batch: Batch): Promise<Settled> {
  const acknowledged = batch.acknowledged();
  const done = await markSomeDone(db, batch.token, acknowledged);
  const handedOver = batch.outcome().exceptions.filter(({ write }) => write === 'retry');
  const retrying = await leaveToRuns(
    db,
    batch.token,
    handedOver.flatMap(({ ids }) => ids),
  );
  const returned = await free(db, batch.token);
  if (returned > 0) await notify(db);
  return { done, deferred: 0, dead: 0, returned, retrying, lost: Math.max(0, batch.rows - done - returned - retrying) };
}

async function notify(db: Database): Promise<void> {
  await db.query(`/* outbox: wake relay */ SELECT pg_notify($1, '')`, [wakeChannel(db.schema)]);
}

function sum(counts: Omit<Settled, 'lost'>): number {
  return counts.done + counts.deferred + counts.dead + counts.returned + (counts.retrying ?? 0);
}
