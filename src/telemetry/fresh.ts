import { within } from '../within';

/**
 * What is asked for often and costs something: asked once for all that want it at the same moment, and kept for a while;
 * the longer it took, the longer it is kept, so that it takes a twentieth of the time at most.
 */
export class Fresh<T> {
  private asking: Promise<T | undefined> | undefined;
  private value: T | undefined;
  private until = -Infinity;

  /** @param keepMs at least */
  constructor(
    private readonly ask: () => Promise<T>,
    private readonly keepMs: number,
    private readonly timeoutMs: number,
  ) {}

  /** @returns undefined when there was no answer in time; never rejects */
  get(): Promise<T | undefined> {
    if (performance.now() < this.until) return Promise.resolve(this.value);
    this.asking ??= this.askNow().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private async askNow(): Promise<T | undefined> {
    const begun = performance.now();
    this.value = await within(this.timeoutMs, this.ask()).catch(() => undefined);
    const now = performance.now();
    this.until = now + Math.max(this.keepMs, 20 * (now - begun));
    return this.value;
  }
}
