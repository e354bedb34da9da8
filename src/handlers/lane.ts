import { retryBackoff } from '../backoff';
import type { Config } from '../config';
import type { HandOver } from '../deliveries/handOver';
import type { LedgerVerdict } from '../ledger/claim';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import type { Deferral } from '../telemetry/counters';
import type { Metrics } from '../telemetry/metrics';
import type { HandlerSpans } from '../tracing/handlerSpans';
import { AggregateQueue } from './aggregateQueue';
import { UNWRITTEN, type Bookkeeping } from './bookkeeping';
import { failureText, type RedactFailure } from './failureText';
import { newerVersion, type Reading } from './readEvent';
import type { RecordedHandlers } from './recorded';
import { endingGraceMs } from './runHandler';
import type { Seats } from './seats';
import { dueMs, STOPPING, UNKNOWN_SET, type ClaimedTask, type Task, type TaskResult } from './task';
import { tellAttempt, WORKER_LOST } from './tellAttempt';

export interface LaneDeps {
  readonly db: Database;
  readonly config: Config;
  readonly books: Bookkeeping;
  readonly recorded: RecordedHandlers;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  readonly redact: RedactFailure | undefined;
  readonly spans: HandlerSpans;
  readonly ending: AbortSignal;
  /** One for each transaction of a handler that may be open. */
  readonly transactions: Seats;
}

/** In progress at once, as a multiple of the concurrency: what runs, and twice as much claimed ahead of it. */
export const AHEAD = 3;

/** The way of all events through one handler: in order within an aggregate, many aggregates at a time. */
export abstract class Lane {
  protected readonly queue = new AggregateQueue<Task>();
  protected inProgress = 0;
  /** The effect cannot outlive its claim, so the claim need not be on disk first. */
  protected readonly relaxed: boolean = false;
  /** Nothing more begins. */
  protected stopped = false;

  constructor(
    readonly handlerName: string,
    protected readonly deps: LaneDeps,
  ) {}

  add(task: Task): void {
    if (this.stopped) return task.resolve(STOPPING);
    const { aggregateType, aggregateId } = task.event;
    this.queue.push(`${aggregateType} ${aggregateId}`, task);
    this.pump();
  }

  /** What has not begun is given back; what has begun goes on to its end. */
  stop(): void {
    this.stopped = true;
    for (const task of this.queue.empty()) task.resolve(STOPPING);
  }

  /** Begins what may begin. */
  protected abstract pump(): void;

  protected get room(): number {
    return AHEAD * this.deps.config.handling.concurrency - this.inProgress;
  }

  /** Claims the ledger for tasks that are about to begin; those that must not begin are resolved here. */
  protected async begin(tasks: readonly Task[]): Promise<ClaimedTask[]> {
    const { books, recorded, metrics } = this.deps;
    const handler = this.handlerName;
    const since = performance.now();
    const keys = tasks.map(({ event }) => ({
      ...{ eventId: event.eventId, handler },
      ...(metrics && { dueMs: dueMs(event) }),
    }));
    const answer = this.stopped ? undefined : await books.claim(keys, this.relaxed);
    if (!answer) {
      for (const task of tasks) task.resolve(STOPPING);
      return [];
    }
    const answeredAt = performance.now();
    // Before any of them is answered: an event is finished against the set as it was when the event was claimed.
    const known = await recorded.follow(answer.revision).then(
      () => true,
      () => false,
    );
    const claimed: ClaimedTask[] = [];
    tasks.forEach((task, index) => {
      const verdict = answer.verdicts[index];
      if (verdict?.kind === 'claimed') {
        const claim = { eventId: task.event.eventId, handler, startedAt: verdict.startedAt };
        claimed.push({ ...task, claim, loss: books.hold(claim, since), dueAt: answeredAt - verdict.ageMs });
      } else if (!known) task.resolve(UNKNOWN_SET);
      else if (verdict) void this.pass(task, verdict);
    });
    // The worker may have been told to stop while the statement was under way.
    if (known && !this.stopped) return claimed;
    await Promise.all(claimed.map((task) => this.giveBack(task, known ? STOPPING : UNKNOWN_SET)));
    return [];
  }

  private async pass(task: Task, verdict: Exclude<LedgerVerdict, { kind: 'claimed' }>): Promise<void> {
    const { maxAttempts } = this.deps.config;
    if (verdict.kind === 'done') {
      this.deps.metrics?.ledgerSkip(this.handlerName);
      return task.resolve({ kind: 'done' });
    }
    if (verdict.kind === 'delivery') {
      const { state, delivery } = verdict;
      if (state === 'skipped') return task.resolve({ kind: 'done' });
      // Asked for again: whoever handed it over may have died before its run was started, or before it could end failed.
      return task.resolve({ kind: 'handed over', deliveries: [delivery] });
    }
    if (verdict.kind === 'held') {
      const reason = 'another worker is at work on it';
      const given = { startedAt: null, attempts: 0, dueInMs: verdict.forMs, reason, dead: false };
      return this.handOver(task, given, 'held elsewhere');
    }
    this.deps.metrics?.ledgerClaimTakenOver();
    // A handler that kills its process spends its own attempts in this way (C04).
    return this.handOver(task, {
      startedAt: verdict.startedAt,
      attempts: 1,
      dueInMs: Math.max(0, this.firstWaitMs - verdict.sinceMs),
      reason: WORKER_LOST,
      dead: maxAttempts <= 1,
    });
  }

  private get firstWaitMs(): number {
    const { backoffFirstMs, backoffMaxMs } = this.deps.config.relay;
    return retryBackoff(1, backoffFirstMs, backoffMaxMs);
  }

  /** The first attempt has failed. */
  protected fail(task: ClaimedTask, thrown: unknown): Promise<void> {
    const { config, redact } = this.deps;
    return this.handOver(task, {
      startedAt: task.claim.startedAt,
      attempts: 1,
      dueInMs: this.firstWaitMs,
      reason: failureText(thrown, redact, { eventId: task.event.eventId, handler: this.handlerName }),
      dead: config.maxAttempts <= 1,
    });
  }

  /** The worker does not know the event's version, or the handler, yet. No attempt is spent. */
  protected defer(task: ClaimedTask, dueInMs: number, reason: string, why: Deferral): Promise<void> {
    const given = { startedAt: task.claim.startedAt, attempts: 0, dueInMs, reason, dead: false };
    return this.handOver(task, given, why);
  }

  /** It cannot be handed to the handler: a newer worker may know it, or nobody ever will. */
  protected refuse(task: ClaimedTask, reading: Exclude<Reading, { kind: 'ready' }>): Promise<void> {
    if (reading.kind === 'unfit') return this.bury(task, reading.reason);
    return this.defer(task, this.deps.config.handling.newerVersionMs, newerVersion(reading), 'newer version');
  }

  /** It can never fit: trying again would not help. */
  private bury(task: ClaimedTask, reason: string): Promise<void> {
    return this.handOver(task, { startedAt: task.claim.startedAt, attempts: 1, dueInMs: 0, reason, dead: true });
  }

  /** For a handler that has been cut short and still runs: its claim stays until its lease is over. */
  protected leave(task: ClaimedTask): void {
    this.deps.books.letGo(task.claim);
    task.resolve(STOPPING);
  }

  protected get endingGraceMs(): number {
    return endingGraceMs(this.deps.config);
  }

  protected async giveBack(task: ClaimedTask, result: TaskResult = STOPPING): Promise<void> {
    await this.deps.books.release(task.claim);
    task.resolve(result);
  }

  /** For one that was not entered, since its claim could not be renewed, and may be somebody else's: no attempt is spent. */
  protected async beginAnew(task: ClaimedTask): Promise<void> {
    await this.deps.books.release(task.claim);
    this.askAgain(task);
  }

  /** Its effect is there. */
  protected handled({ dueAt }: ClaimedTask): void {
    this.deps.metrics?.handled(this.handlerName, performance.now() - dueAt);
  }

  /** @param deferral why no attempt is spent, where none is */
  private async handOver(task: Task, given: Omit<HandOver, 'event' | 'handler'>, deferral?: Deferral): Promise<void> {
    const { books, metrics } = this.deps;
    const delivery = await books.handOver({ ...given, event: task.event, handler: this.handlerName });
    if (delivery === UNWRITTEN) return task.resolve(STOPPING);
    if (delivery && deferral) metrics?.handlingDeferred(this.handlerName, deferral);
    if (delivery && given.attempts > 0) {
      const { eventId, eventType } = task.event;
      tellAttempt(this.deps, { ...delivery, eventId, eventType, attempt: delivery.attempts });
    }
    if (!delivery) return this.askAgain(task);
    task.resolve({ kind: 'handed over', deliveries: [delivery] });
  }

  /**
   * The claim is not ours any more. Another worker may have taken it over; or PostgreSQL lost it in a crash or a fail-over,
   * and then nobody has it: an event that was settled on the word of an absent row would never be handled. The next claim
   * tells.
   */
  protected askAgain({ event, resolve }: Task): void {
    this.add({ event, resolve });
  }
}
