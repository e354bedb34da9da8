import { setTimeout as sleep } from 'node:timers/promises';
import type { Instance } from '../../demo/instance';
import type { Target } from './killer';

const RESTART_MS = 500;

/** A process of an instance under a supervisor, as in production: one that ends is started again until it is ready. */
export class Supervised implements Target {
  /** How often it ended without being killed: at a start while something that it needs was away, or in an outage. */
  endedItself = 0;
  private killed = false;
  private over = false;

  constructor(
    private readonly instance: Instance,
    private readonly part: 'server' | 'worker',
  ) {
    this.watch();
  }

  get name(): string {
    return `${this.instance.options.name} ${this.part}`;
  }

  async kill(): Promise<void> {
    this.killed = true;
    const child = this.instance[this.part];
    child.kill();
    await child.ended;
  }

  async start(): Promise<void> {
    while (!this.over) {
      try {
        await (this.part === 'server' ? this.instance.startServer() : this.instance.startWorker());
        this.killed = false;
        this.watch();
        return;
      } catch {
        this.endedItself++;
        await sleep(RESTART_MS);
      }
    }
  }

  /** Lets it rest from now on. */
  stop(): void {
    this.over = true;
  }

  private watch(): void {
    void this.instance[this.part].ended.then(() => {
      if (this.killed || this.over) return;
      this.endedItself++;
      return this.start();
    });
  }
}
