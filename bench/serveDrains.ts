import type { Config } from '../src/config';
import type { ClaimedEvent } from '../src/event';
import type { Database } from '../src/postgres/database';
import { builtClaim, builtFence, builtSettle } from './build';

/** A bare loop's part: all that a worker would do with claimed events before they are marked. */
export type Work = (events: readonly ClaimedEvent[]) => Promise<void>;

/**
 * The loop as a process of the bench: claim, work, mark, next. Says `ready`, and drains the outbox once for every message
 * that it is sent.
 */
export async function serveDrains(db: Database, config: Config, work: Work): Promise<void> {
  const { claimDue } = builtClaim();
  const { markDone } = builtSettle();
  const { bumpFence } = builtFence();
  process.on('message', () => {
    drain().then(
      (events) => process.send?.({ events }),
      (error: Error) => process.send?.({ error: error.message }),
    );
  });
  // The bench is gone, however it ended.
  process.on('disconnect', () => process.exit());
  await db.query('SELECT 1');
  process.send?.('ready');

  async function drain(): Promise<number> {
    const limits = { rows: config.relay.batchSize, bytes: config.relay.batchBytes };
    const token = await bumpFence(db);
    let drained = 0;
    for (;;) {
      const { events } = await claimDue(db, token, limits);
      if (events.length === 0) return drained;
      await work(events);
      drained += await markDone(db, token, []);
    }
  }
}
