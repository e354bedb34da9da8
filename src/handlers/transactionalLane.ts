import { setTimeout as sleep } from 'node:timers/promises';
import { readClaim } from '../ledger/read';
import type { HandledEvent, Handler } from './defineHandler';
import { failureName } from './failureText';
import { Lane, type LaneDeps } from './lane';
import type { ClaimedTask, Task } from './task';
import { readEvent } from './readEvent';
import { runHandler } from './runHandler';
import { ConnectionLostError, finishOrRollBack, inTransaction, MAX_LOST_CONNECTIONS, RollBack } from './transaction';

/**
 * A shared transaction holds its connection and its rows for about so long; slower handlers do not share. Well above what
 * a group of quick ones takes on a busy machine: groups that shrink under load cost more, and shrink further.
 */
const SHARED_MS = 100;
/** The failure of a statement before it, or of a rival's: not the event's own. */
const NOT_ITS_OWN = new Set(['25P02', '40001', '40P01']);
const PAUSE_MS = 500;

interface ReadyTask extends ClaimedTask {
  readonly handled: HandledEvent;
}

type Together =
  | { readonly kind: 'committed' }
  /** This one failed, by its own doing. */
  | { readonly kind: 'blamed'; readonly task: ReadyTask; readonly thrown: unknown }
  /** The claim of this one was lost before its turn. */
  | { readonly kind: 'not entered'; readonly task: ReadyTask }
  | { readonly kind: 'interrupted' }
  /** The transaction failed as a whole. */
  | { readonly kind: 'failed'; readonly error: unknown };

/**
 * Handlers whose effect commits with the ledger. Quick ones share a transaction, which halves what an event costs; when
 * one of them fails, the others are run again without it, so that it costs only its own effect.
 */
export class TransactionalLane extends Lane {
  protected override readonly relaxed = true;
  private units = 0;
  /** Of a shared transaction: 1 after a failure, and grows again as it goes well. */
  private groupSize = 4;
  private averageMs = 5;

  constructor(
    private readonly handler: Handler,
    deps: LaneDeps,
  ) {
    super(handler.name, deps);
  }

  protected pump(): void {
    while (this.units < this.deps.config.handling.concurrency) {
      const size = Math.min(this.unitSize, this.queue.size);
      // A group that would be cut short waits for the next one to end: it costs as much as a whole one.
      if (size === 0 || (this.units > 0 && this.room < size)) return;
      const taken = this.queue.take(size, size);
      if (taken.length === 0) return;
      const tasks = taken.flatMap(({ items }) => items);
      this.units++;
      this.inProgress += tasks.length;
      void this.deps.transactions
        .with(() => this.unit(tasks))
        .finally(() => {
          this.units--;
          this.inProgress -= tasks.length;
          for (const { key } of taken) this.queue.free(key);
          this.pump();
        });
    }
  }

  /** What one claim takes: as much as a shared transaction may, also while failures keep transactions apart. */
  private get unitSize(): number {
    const { concurrency } = this.deps.config.handling;
    return Math.max(1, Math.min(Math.floor(SHARED_MS / this.averageMs), concurrency));
  }

  private async unit(tasks: readonly Task[]): Promise<void> {
    const left = await this.read(await this.begin(tasks));
    const apart: Promise<void>[] = [];
    let size = this.groupSize;
    while (left.length > 0) {
      const group = left.slice(0, size);
      const result: Together = this.stopped ? { kind: 'interrupted' } : await this.together(group);
      if (result.kind === 'interrupted') {
        await Promise.all(left.map((task) => this.giveBack(task)));
        break;
      }
      if (result.kind === 'committed') {
        this.done(left.splice(0, group.length));
      } else if (result.kind === 'not entered') {
        left.splice(left.indexOf(result.task), 1);
        apart.push(this.beginAnew(result.task));
      } else if (result.kind === 'blamed') {
        left.splice(left.indexOf(result.task), 1);
        apart.push(this.fail(result.task, result.thrown));
        // Those before it run again: half as many at each failure, so that many failures do not repeat many.
        size = Math.ceil(size / 2);
      } else {
        size = 1;
        const only = group.length === 1 ? left.shift() : undefined;
        if (only) await this.alone(only, result);
      }
    }
    await Promise.all(apart);
  }

  /** @param result how its transaction failed as a whole */
  private async alone(task: ReadyTask, result: Together): Promise<void> {
    for (let lostConnections = 0; ;) {
      if (result.kind === 'committed') return this.done([task]);
      if (result.kind === 'interrupted') return this.giveBack(task);
      if (result.kind === 'blamed') return this.fail(task, result.thrown);
      if (result.kind === 'not entered') return this.beginAnew(task);
      if (result.error instanceof ConnectionLostError) lostConnections++;
      if (!(await this.again(task, result.error, lostConnections))) return;
      result = await this.together([task]);
    }
  }

  /** After a transaction that failed as a whole, with this task alone in it. @returns true when it is to be run again */
  private async again(task: ReadyTask, error: unknown, lostConnections: number): Promise<boolean> {
    const { db, ending } = this.deps;
    for (;;) {
      if (ending.aborted) {
        await this.giveBack(task);
        return false;
      }
      try {
        // The answer to a commit may have been lost, and the commit not.
        const claim = await readClaim(db, task.claim);
        if (claim === 'done') this.done([task]);
        else if (claim === 'gone') this.lost(task);
        else if (db.unprepare(error)) return true;
        else if (error instanceof ConnectionLostError && lostConnections < MAX_LOST_CONNECTIONS) return true;
        else await this.fail(task, error);
        return false;
      } catch {
        await sleep(PAUSE_MS, undefined, { signal: ending }).catch(() => undefined);
      }
    }
  }

  private async together(tasks: readonly ReadyTask[]): Promise<Together> {
    const { db, ending, metrics, spans } = this.deps;
    const { handler } = this;
    let ended: Exclude<Together, { kind: 'committed' | 'failed' }> | undefined;
    const begun = performance.now();
    try {
      await inTransaction(db, handler.timeoutMs, async ({ tx, run, ended: endedByHand }) => {
        for (const task of tasks) {
          const result = await runHandler(handler, task.handled, {
            ...{ attempt: 1, tx, ending, loss: task.loss, metrics, spans },
            endingGraceMs: this.endingGraceMs,
          });
          const byHand = endedByHand();
          if (result.kind === 'ran' && !byHand) continue;
          const thrown = result.kind === 'failed' ? result.thrown : byHand;
          if (result.kind === 'not entered') ended = { kind: 'not entered', task };
          else ended = result.kind === 'interrupted' ? { kind: 'interrupted' } : { kind: 'blamed', task, thrown };
          throw new RollBack('a handler failed');
        }
        await finishOrRollBack(
          run,
          tasks.map(({ claim }) => claim),
        );
      });
    } catch (error) {
      this.pace((performance.now() - begun) / tasks.length);
      this.groupSize = 1;
      if (ended?.kind !== 'blamed') return ended ?? { kind: 'failed', error };
      if (error instanceof ConnectionLostError) return { kind: 'failed', error };
      // By its name, which is read with care: what a handler throws may throw when it is read (C20).
      const shared = tasks.length > 1 && NOT_ITS_OWN.has(failureName(ended.thrown));
      return shared ? { kind: 'failed', error: ended.thrown } : ended;
    }
    this.pace((performance.now() - begun) / tasks.length);
    this.groupSize = Math.min(2 * this.groupSize, this.unitSize);
    return { kind: 'committed' };
  }

  private pace(ms: number): void {
    this.averageMs = 0.8 * this.averageMs + 0.2 * ms;
  }

  private done(tasks: readonly ClaimedTask[]): void {
    for (const task of tasks) {
      this.deps.books.letGo(task.claim);
      this.handled(task);
      task.resolve({ kind: 'done' });
    }
  }

  private lost(task: ClaimedTask): void {
    this.deps.books.letGo(task.claim);
    this.askAgain(task);
  }

  /** Those that fit; the others are handed over. */
  private async read(claimed: readonly ClaimedTask[]): Promise<ReadyTask[]> {
    const ready: ReadyTask[] = [];
    for (const task of claimed) {
      const reading = await readEvent(this.handler, task.event);
      if (reading.kind === 'ready') ready.push({ ...task, handled: reading.event });
      else await this.refuse(task, reading);
    }
    return ready;
  }
}
