import { startAfresh } from '../fill';
import { median } from '../numbers';
import { orderPlaced, sendSteadily } from '../steady';
import type { Rig } from '../rig';

const STARTS = 5;
const WITHIN_MS = 60_000;

/**
 * From the command that starts a worker to the first event in a subscriber, an event being due, everything else running,
 * and the relay known from earlier starts.
 */
export async function start(rig: Rig): Promise<Record<string, unknown>> {
  await startAfresh(rig);
  await (await rig.worker()).stop();
  const times: number[] = [];
  for (let n = 0; n < (rig.quick ? 2 : STARTS); n++) {
    await sendSteadily(rig, 100, (at) => (at < 1 ? orderPlaced(at) : undefined));
    const arrived = firstEvent(rig);
    const begun = performance.now();
    const worker = await rig.worker();
    times.push((await arrived) - begun);
    rig.say(`start: first event after ${Math.round(times.at(-1) ?? NaN)} ms`);
    await worker.stop();
  }
  return { firstEventMs: median(times), firstEventWorstMs: Math.max(...times), firstEventsMs: times };
}

async function firstEvent(rig: Rig): Promise<number> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no event within ${WITHIN_MS} ms`)), WITHIN_MS);
    rig.nats.subscribe(`${rig.config.nats.subjectPrefix}.>`, {
      max: 1,
      callback: (error) => {
        clearTimeout(late);
        if (error) reject(error);
        else resolve(performance.now());
      },
    });
  });
}
