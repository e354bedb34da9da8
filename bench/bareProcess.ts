import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { endChild, watchOver } from './children';
import type { Rig } from './rig';

/** A bare loop in a process of its own. Kept from run to run, so that its code is as warm as the worker's. */
export class BareProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly ended: Promise<void>,
  ) {}

  /**
   * @param file below this directory; says `ready`, then drains the outbox once for every message
   * @param settings of its own, beside those that all have
   */
  static async start(rig: Rig, file: string, settings: NodeJS.ProcessEnv = {}): Promise<BareProcess> {
    const child = fork(join(__dirname, file), { env: rig.environment(settings) });
    const ended = watchOver(child);
    rig.onStop(() => endChild(child, ended, 1_000));
    const bare = new BareProcess(child, ended);
    await bare.answer();
    return bare;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Drains the outbox once. */
  async drain(): Promise<void> {
    this.child.send('go');
    await this.answer();
  }

  private answer(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.child.once('message', (message: { error?: string }) => {
        if (message.error === undefined) resolve(message);
        else reject(new Error(`the bare loop failed: ${message.error}`));
      });
      void this.ended.then(() => reject(new Error('the bare loop ended')));
    });
  }
}
