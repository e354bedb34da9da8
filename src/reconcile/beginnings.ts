import type { Recorded } from './readStart';

/**
 * A worker may finish an event against a reading of the recorded set that it had asked for before the event was due, and
 * clocks are set. What was due this soon after the recording is not judged.
 */
const TOLERANCE_MS = 5_000;

/**
 * Whether a handler must have been given an event: one that was added later is not given what was finished before, and
 * that is no fault.
 *
 * An event is finished against the recorded set as it was when the event was claimed, and it is not claimed before it is
 * due. So what became due after the recording was given to the handler. What became due before may have been finished
 * before, or not: that is not judged. Nor is anything while nobody knows the time, as a build recorded it that writes
 * none.
 */
export class Beginnings {
  private readonly since = new Map<string, number>();

  constructor({ since }: Recorded) {
    for (const [handler, types] of Object.entries(since))
      for (const [type, ms] of Object.entries(types)) this.since.set(`${handler} ${type}`, ms);
  }

  wasThere(handler: string, type: string, dueMs: number): boolean {
    const since = this.since.get(`${handler} ${type}`);
    return since !== undefined && dueMs >= since + TOLERANCE_MS;
  }

  /** Whether a later reading knows it since the same time, so that it was not forgotten meanwhile. */
  isStillThere(handler: string, type: string, later: Beginnings): boolean {
    const key = `${handler} ${type}`;
    return this.since.get(key) === later.since.get(key);
  }
}
