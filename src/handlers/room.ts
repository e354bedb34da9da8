/** What is handled within this time counts as soon. */
const SOON_MS = 250;
const SAMPLE_MS = 100;
/** Looked again after so long even when nothing told of a change. */
const LOOK_MS = 100;

/**
 * How many events a worker takes in: at least `least`, more when it has lately handled more than that within 250 ms. A
 * fixed number would either starve quick handlers or pile up in front of slow ones.
 */
export class Room {
  private perSecond = 0;
  private count = 0;
  private sampledAt = performance.now();
  private waiters = new Set<() => void>();

  constructor(
    private readonly least: number,
    private readonly most: number,
  ) {}

  limit(): number {
    this.sample();
    return Math.max(this.least, Math.min(this.most, Math.floor((this.perSecond * SOON_MS) / 1_000)));
  }

  settled(): void {
    this.count++;
    this.changed();
  }

  changed(): void {
    for (const waiter of [...this.waiters]) waiter();
  }

  /** Resolves at the next change. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.waiters.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(ms, LOOK_MS));
      this.waiters.add(done);
      signal.addEventListener('abort', done);
    });
  }

  private sample(): void {
    const now = performance.now();
    const elapsed = now - this.sampledAt;
    if (elapsed < SAMPLE_MS) return;
    this.perSecond = 0.5 * this.perSecond + (0.5 * this.count * 1_000) / elapsed;
    this.count = 0;
    this.sampledAt = now;
  }
}
