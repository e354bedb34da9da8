import { setTimeout as sleep } from 'node:timers/promises';
import type { NewEvent } from '../src/event';
import { builtEnqueue } from './build';
import type { Rig } from './rig';

export interface Sent {
  /** By the number of the event: its id, and just after its COMMIT returned, by `performance.now()`. */
  readonly commits: readonly { readonly id: string; readonly at: number }[];
  /** How far the slowest transaction began behind its time. Large means that the load was not what it should be. */
  readonly latestStartMs: number;
}

/** More than the load ever needs at once, so that a slow commit holds up no other. */
const CONNECTIONS = 16;

/**
 * Single-event transactions at a steady rate. The schedule is open: each begins at its time, however long those before
 * it take, so a stall shows in all that it held up.
 *
 * @param event the event of each number from 0; none ends the sending
 */
export async function sendSteadily(rig: Rig, rate: number, event: (n: number) => NewEvent | undefined): Promise<Sent> {
  const { enqueueEvents } = builtEnqueue();
  const db = rig.database(CONNECTIONS);
  const commits: { id: string; at: number }[] = [];
  const begin = performance.now() + 20;
  const sending: Promise<void>[] = [];
  let latestStartMs = 0;
  let failed: Error | undefined;
  for (let n = 0; ; n++) {
    const next = event(n);
    if (!next) break;
    const due = begin + (n * 1_000) / rate;
    const early = due - performance.now();
    if (early > 0) await sleep(early);
    latestStartMs = Math.max(latestStartMs, performance.now() - due);
    const one = send(n, next);
    // Reported below, once the loop has come to its end; until then nobody waits for it.
    one.catch((error: Error) => (failed ??= error));
    sending.push(one);
    if (failed) break;
  }
  await Promise.all(sending);
  await db.close();
  return { commits, latestStartMs };

  async function send(n: number, next: NewEvent): Promise<void> {
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN');
      const [id] = await enqueueEvents(client, [next], { schema: db.schema });
      await client.query('COMMIT');
      commits[n] = { id: id ?? '', at: performance.now() };
    } finally {
      client.release();
    }
  }
}

/** About 400 bytes, a thousand aggregates. */
export function orderPlaced(n: number, more: Record<string, unknown> = {}): NewEvent {
  const payload = { n, note: 'x'.repeat(360), paid: true, ...more };
  return { type: 'OrderPlaced', aggregateType: 'order', aggregateId: String(n % 1_000), payload };
}
