import { setTimeout as sleep } from 'node:timers/promises';
import { builtEnqueue } from './build';
import type { Rig } from './rig';

export interface Traffic {
  /** Milliseconds from just after COMMIT returned until the subscriber had the event; one entry for each event. */
  readonly latencies: number[];
  /** How far the slowest transaction began behind its time. Large means that the load was not what it should be. */
  readonly latestStartMs: number;
}

/** More than the load ever needs at once, so that a slow commit holds up no other. */
const CONNECTIONS = 16;
const ARRIVES_WITHIN_MS = 30_000;

/**
 * Single-event transactions at a steady rate. The schedule is open: each begins at its time, however long those before
 * it take, so a stall shows in all that it held up. Sender and subscriber are one process with one clock.
 */
export async function sendTraffic(rig: Rig, rate: number, seconds: number): Promise<Traffic> {
  const { enqueueEvents } = builtEnqueue();
  const db = rig.database(CONNECTIONS);
  const committed = new Map<string, number>();
  const received = new Map<string, number>();
  const subscription = rig.nats.subscribe(`${rig.config.nats.subjectPrefix}.>`, {
    callback: (_error, message) => {
      const now = performance.now();
      const id = message.headers?.get('Nats-Msg-Id') ?? '';
      if (!received.has(id)) received.set(id, now);
    },
  });
  await rig.nats.flush();

  const total = rate * seconds;
  const begin = performance.now() + 20;
  const sending: Promise<void>[] = [];
  let latestStartMs = 0;
  for (let index = 0; index < total; index++) {
    const due = begin + (index * 1_000) / rate;
    const early = due - performance.now();
    if (early > 0) await sleep(early);
    latestStartMs = Math.max(latestStartMs, performance.now() - due);
    sending.push(send(index));
  }
  await Promise.all(sending);
  const end = performance.now() + ARRIVES_WITHIN_MS;
  while (received.size < total && performance.now() < end) await sleep(10);
  subscription.unsubscribe();
  await db.close();
  const latencies = [...committed].map(([id, at]) => (received.get(id) ?? NaN) - at);
  const missing = latencies.filter(Number.isNaN).length;
  if (missing > 0) throw new Error(`${missing} of ${total} events did not arrive within ${ARRIVES_WITHIN_MS} ms`);
  return { latencies, latestStartMs };

  async function send(n: number): Promise<void> {
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN');
      const payload = { n, note: 'x'.repeat(360), paid: true };
      const event = { type: 'OrderPlaced', aggregateType: 'order', aggregateId: String(n % 1_000), payload };
      const [id] = await enqueueEvents(client, [event], { schema: db.schema });
      await client.query('COMMIT');
      committed.set(id ?? '', performance.now());
    } finally {
      client.release();
    }
  }
}
