import { within } from '../within';

/** What is asked for often and costs something: asked once for all that want it at the same moment, and kept for a while. */
export class Fresh<T> {
  private asking: Promise<T | undefined> | undefined;
  private value: T | undefined;
  private until = -Infinity;

  /**
   * @param keepMs at least
   * @param restFor how many times as long as it took it is kept: with 20, what has become slow takes a twentieth of the
   *   time at most; with 0, news is never older than `keepMs`
   */
  constructor(
    private readonly ask: () => Promise<T>,
    private readonly keepMs: number,
    private readonly timeoutMs: number,
    private readonly restFor = 20,
  ) {}

  /** @returns undefined when there was no answer in time; never rejects */
  get(): Promise<T | undefined> {
    if (performance.now() < this.until) return Promise.resolve(this.value);
    this.asking ??= this.askNow().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private async askNow(): Promise<T | undefined> {
    const begun = performance.now();
    // Asked in a promise: what throws before it has one, as while a connection is missing, is no answer either.
    const answer = Promise.resolve().then(() => this.ask());
    this.value = await within(this.timeoutMs, answer).catch(() => undefined);
    const now = performance.now();
    this.until = now + Math.max(this.keepMs, this.restFor * (now - begun));
    return this.value;
  }
}
