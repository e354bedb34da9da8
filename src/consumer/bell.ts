/** Wakes whoever waits. A ring while nobody waits is kept for the next wait, so that none is missed. */
export class Bell {
  private rung = false;
  private wake: (() => void) | undefined;

  ring(): void {
    this.rung = true;
    this.wake?.();
  }

  /** Resolves at the next ring, when `signal` aborts, or after `ms`. One waits at a time. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.rung && !signal.aborted && ms > 0) {
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          this.wake = undefined;
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal.addEventListener('abort', done, { once: true });
        this.wake = done;
      });
    }
    this.rung = false;
  }
}
