import { setTimeout as sleep } from 'node:timers/promises';
import type { Rig } from './rig';
import { orderPlaced, sendSteadily } from './steady';

export interface Traffic {
  /** Milliseconds from just after COMMIT returned until the subscriber had the event; one entry for each event. */
  readonly latencies: number[];
  /** How far the slowest transaction began behind its time. */
  readonly latestStartMs: number;
}

const ARRIVES_WITHIN_MS = 30_000;

/** Steady traffic and a subscriber that waits for it: one process with one clock. */
export async function sendTraffic(rig: Rig, rate: number, seconds: number): Promise<Traffic> {
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
  const { commits, latestStartMs } = await sendSteadily(rig, rate, (n) => (n < total ? orderPlaced(n) : undefined));
  const end = performance.now() + ARRIVES_WITHIN_MS;
  while (received.size < total && performance.now() < end) await sleep(10);
  subscription.unsubscribe();
  const latencies = commits.map(({ id, at }) => (received.get(id) ?? NaN) - at);
  const missing = latencies.filter(Number.isNaN).length;
  if (missing > 0) throw new Error(`${missing} of ${total} events did not arrive within ${ARRIVES_WITHIN_MS} ms`);
  return { latencies, latestStartMs };
}
