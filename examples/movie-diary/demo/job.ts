import type { Pool } from 'pg';
import { firstHandled } from './firstHandled';
import { readFilms } from './films';
import type { Instance } from './instance';
import { waitFor, type Patience } from './patience';
import { planOf, type Plan, type Size } from './plan';
import { progress } from './progress';
import { countSteps, replay, type Phase, type Replayed } from './replay';
import { countOpen } from './settle';

export interface Running {
  readonly instance: Instance;
  readonly pool: Pool;
}

export interface JobDone extends Replayed {
  readonly plan: Plan;
  readonly seconds: number;
  /** From the start of the process until a handler had finished an event; undefined when none had to. */
  readonly firstHandledAfter: number | undefined;
}

const STUCK = '`npx outbox status`, `npx outbox handlers` and `npx outbox dead list` say what waits, and why.';

/** Replays the whole diary on both instances over HTTP, and waits until everything that follows from it has happened. */
export async function runJob(first: Running, second: Running, size: Size, patience: Patience): Promise<JobDone> {
  const origins = { first: first.instance.origin, second: second.instance.origin };
  const plan = planOf(readFilms(), origins, size);
  const began = performance.now();
  const send = async (what: string, phases: readonly Phase[]) => {
    const bar = progress(what, countSteps(phases));
    try {
      return await replay(phases, origins, patience.signal, (done) => bar.update(done));
    } finally {
      bar.end();
    }
  };
  const settleShown = async () => {
    let most = 0;
    const bar = progress('settling', most);
    try {
      await settle([first, second], patience, (left) => {
        // It grows while more follows from what is done.
        most = Math.max(most, left);
        bar.update(most - left, most);
      });
    } finally {
      bar.end();
    }
  };
  const watching = new AbortController();
  let firstHandledAfter: number | undefined;
  const watch = firstHandled([first, second], AbortSignal.any([patience.signal, watching.signal]));
  watch.then((seconds) => (firstHandledAfter = seconds)).catch(() => undefined);
  const sent: Replayed[] = [];
  for (const { name, phases } of plan.acts) {
    sent.push(await send(name, phases));
    await settleShown();
  }
  watching.abort();
  return {
    plan,
    firstHandledAfter,
    requests: sent.reduce((sum, { requests }) => sum + requests, 0),
    repeated: sent.reduce((sum, { repeated }) => sum + repeated, 0),
    seconds: (performance.now() - began) / 1_000,
  };
}

/** Until nothing is open on either instance: what one does leads to something at the other. */
export async function settle(
  running: readonly Running[],
  patience: Patience,
  onProgress: (left: number) => void = () => undefined,
): Promise<void> {
  const left = async () => {
    const open = await Promise.all(running.map(({ instance, pool }) => countOpen(pool, instance.options.outboxSchema)));
    return open.reduce((sum, count) => sum + count, 0);
  };
  // Twice, as something may have been on its way from one to the other while the first look was taken.
  for (let look = 0; look < 2; look++) await waitFor({ left, onProgress, stuck: STUCK }, patience);
}
