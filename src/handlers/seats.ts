/** A number of places, given out in the order of asking. */
export class Seats {
  private readonly waiting: (() => void)[] = [];
  private free: number;

  constructor(seats: number) {
    this.free = Math.max(1, seats);
  }

  /** Runs `work` on a seat, as soon as there is one. */
  async with<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      // Handed on, not freed: whoever asks now stands behind those that wait.
      if (next) next();
      else this.free++;
    }
  }
}
