import { send, type Step } from './client';

/** Steps of one lane go one after the other; lanes go side by side. */
export type Phase = readonly (readonly Step[])[];

/** Lanes at the same time: as many people are at work at once. */
const AT_ONCE = 8;

export interface Replayed {
  readonly requests: number;
  /** Requests that were sent more than once, because no answer came or the server failed. */
  readonly repeated: number;
}

/** Sends all steps, phase by phase. @throws Error at the first step that is refused for good */
export async function replay(
  phases: readonly Phase[],
  origins: Readonly<Record<Step['instance'], string>>,
  signal: AbortSignal,
  onProgress: (done: number) => void = () => undefined,
): Promise<Replayed> {
  let requests = 0;
  let repeated = 0;
  for (const phase of phases) {
    const lanes = [...phase];
    const work = async () => {
      for (let lane = lanes.shift(); lane; lane = lanes.shift()) {
        for (const step of lane) {
          const { tries } = await send(origins, step, signal);
          requests++;
          if (tries > 1) repeated++;
          onProgress(requests);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
  return { requests, repeated };
}

export function countSteps(phases: readonly Phase[]): number {
  return phases.flat(2).length;
}
