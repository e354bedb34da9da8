const FIRST_ROWS = 500;
const LEAST_ROWS = 10;
/** More than that gains nothing: what a batch costs is its rows by then. */
const MOST_ROWS = 5_000;
/** A batch should take that long: a twentieth of the statement time-out, so that a disk that stalls is no failure. */
const TARGET_MS = 100;
const LEAST_PAUSE_MS = 5;
/** Times in a row that a statement may meet its time-out, with a quarter of the rows each time. */
const MOST_CANCELLED = 6;

/** How many rows a batch has, and how long it rests behind one: by what the last one took. */
export class Pace {
  longestMs = 0;
  /** As long as the batch took: half of the time belongs to everybody else, however slow the machine is. */
  pauseMs = LEAST_PAUSE_MS;
  private rows = FIRST_ROWS;
  private cancelled = 0;

  /** @returns undefined when a statement met its time-out: the next batch is smaller */
  async measured<T extends { archivedMs: number }>(batch: (rows: number) => Promise<T>): Promise<T | undefined> {
    const begun = performance.now();
    try {
      const result = await batch(this.rows);
      this.cancelled = 0;
      this.took(performance.now() - begun - result.archivedMs);
      return result;
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== '57014' || ++this.cancelled > MOST_CANCELLED) throw error;
      this.took(performance.now() - begun);
      this.rows = Math.max(LEAST_ROWS, Math.floor(this.rows / 4));
      return undefined;
    }
  }

  private took(ms: number): void {
    this.longestMs = Math.max(this.longestMs, ms);
    this.pauseMs = Math.max(LEAST_PAUSE_MS, ms);
    const factor = Math.min(1.5, Math.max(0.5, TARGET_MS / Math.max(1, ms)));
    this.rows = Math.min(MOST_ROWS, Math.max(LEAST_ROWS, Math.round(this.rows * factor)));
  }
}
