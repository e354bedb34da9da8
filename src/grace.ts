/**
 * How long what is at work may go on once a worker was told to stop. Lives as long as the worker: whoever began to count
 * later, at a connection to Temporal for instance, would cut handlers short whose worker was told in between.
 */
export class Grace {
  private end = Infinity;

  /** @param ms of the whole grace, from the moment in which `stopping` aborts */
  constructor(
    readonly stopping: AbortSignal,
    private readonly ms: number,
  ) {
    if (stopping.aborted) this.begin();
    else stopping.addEventListener('abort', () => this.begin(), { once: true });
  }

  /** Milliseconds; 0 while nobody has told the worker to stop, as then nothing has to be waited for. */
  get leftMs(): number {
    return this.stopping.aborted ? Math.max(0, this.end - performance.now()) : 0;
  }

  private begin(): void {
    this.end = performance.now() + this.ms;
  }
}
