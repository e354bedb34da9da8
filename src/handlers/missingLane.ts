import { Lane } from './lane';

/** A recorded handler that this worker does not have: a delivery run finds a worker that has it. */
export class MissingLane extends Lane {
  protected pump(): void {
    const taken = this.queue.take(this.room, this.room);
    if (taken.length === 0) return;
    const tasks = taken.flatMap(({ items }) => items);
    this.inProgress += tasks.length;
    void this.begin(tasks)
      .then((claimed) =>
        Promise.all(
          claimed.map((task) => this.defer(task, 0, `this worker has no handler ${this.handlerName}`, 'no handler')),
        ),
      )
      .finally(() => {
        this.inProgress -= tasks.length;
        for (const { key } of taken) this.queue.free(key);
        this.pump();
      });
  }
}
