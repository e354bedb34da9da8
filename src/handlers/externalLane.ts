import { UNWRITTEN } from './bookkeeping';
import type { Handler } from './defineHandler';
import { Lane, type LaneDeps } from './lane';
import { STOPPING, type ClaimedTask } from './task';
import { readEvent } from './readEvent';
import { runHandler } from './runHandler';

/**
 * Handlers with effects outside the database: each event on its own. One statement claims a group of them just before
 * they begin, and while it is under way nothing else is claimed, so that the groups grow with the load.
 */
export class ExternalLane extends Lane {
  private readonly ready: { key: string; task: ClaimedTask }[] = [];
  private running = 0;
  private claiming = false;

  constructor(
    private readonly handler: Handler,
    deps: LaneDeps,
  ) {
    super(handler.name, deps);
  }

  protected pump(): void {
    if (!this.claiming && this.queue.size > 0 && this.room > 0) void this.claimSome();
    while (this.running < this.deps.config.handling.concurrency) {
      const next = this.ready.shift();
      if (!next) return;
      this.running++;
      void this.runOne(next.task).finally(() => {
        this.running--;
        this.through(next.key);
      });
    }
  }

  private async claimSome(): Promise<void> {
    // One of each aggregate: its next event may begin only when this one has ended.
    const taken = this.queue.take(this.room, 1);
    const tasks = taken.flatMap(({ items }) => items);
    if (tasks.length === 0) return;
    this.inProgress += tasks.length;
    this.claiming = true;
    const claimed = new Map((await this.begin(tasks)).map((task) => [task.event, task]));
    this.claiming = false;
    for (const { key, items } of taken) {
      const task = items[0] && claimed.get(items[0].event);
      if (task) this.ready.push({ key, task });
      else this.through(key);
    }
    this.pump();
  }

  private through(key: string): void {
    this.inProgress--;
    this.queue.free(key);
    this.pump();
  }

  override stop(): void {
    super.stop();
    for (const { key, task } of this.ready.splice(0)) void this.giveBack(task).finally(() => this.through(key));
  }

  private async runOne(task: ClaimedTask): Promise<void> {
    const { handler } = this;
    const { books, ending, metrics, spans } = this.deps;
    const reading = await readEvent(handler, task.event);
    if (reading.kind !== 'ready') return this.refuse(task, reading);
    // Its validator took its time.
    if (this.stopped) return this.giveBack(task);
    const result = await runHandler(handler, reading.event, {
      ...{ attempt: 1, ending, loss: task.loss, metrics, spans },
      endingGraceMs: this.endingGraceMs,
    });
    if (result.kind === 'not entered') return this.beginAnew(task);
    if (result.kind === 'interrupted') return result.ended ? this.giveBack(task) : this.leave(task);
    if (result.kind === 'failed') return this.fail(task, result.thrown);
    const ours = await books.finish(task.claim);
    if (ours === true) this.handled(task);
    if (ours === UNWRITTEN) task.resolve(STOPPING);
    else if (ours) task.resolve({ kind: 'done' });
    else this.askAgain(task);
  }
}
