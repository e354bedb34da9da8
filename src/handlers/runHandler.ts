import type { Config } from '../config';
import type { Loss } from '../ledger/leases';
import type { Metrics } from '../telemetry/metrics';
import type { HandlerSpan, HandlerSpans } from '../tracing/handlerSpans';
import type { Handler, HandledEvent, Transaction } from './defineHandler';

/** What became of one entry into a handler. */
export type RunResult =
  | { readonly kind: 'ran' }
  | { readonly kind: 'failed'; readonly thrown: unknown }
  /** Its claim was lost while it waited for its turn: whoever holds it now enters the handler. No attempt. */
  | { readonly kind: 'not entered'; readonly reason: string }
  /** Cut short by the worker's stop: not the handler's fault. `ended`: it runs no more. */
  | { readonly kind: 'interrupted'; readonly ended: boolean };

type Entered = Exclude<RunResult, { kind: 'not entered' }>;

export interface Run {
  /** From 1. */
  readonly attempt: number;
  /** Only for a transactional handler. */
  readonly tx?: Transaction;
  /** Aborts when the worker's grace is nearly over. */
  readonly ending: AbortSignal;
  /** What is left then to a handler that heeds its signal, in milliseconds. */
  readonly endingGraceMs: number;
  readonly loss: Loss;
  readonly metrics?: Metrics | undefined;
  readonly spans: Pick<HandlerSpans, 'start'>;
}

/** Between the signal at the end of a worker's grace and the moment in which what became of it is written. */
export function endingGraceMs({ worker }: Config): number {
  return 0.05 * worker.shutdownGraceMs;
}

/** A handler was cut off: its time was over, its claim lost, or the worker stops. */
export class HandlerAbortedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HandlerAbortedError';
  }
}

/**
 * What a handler gets to end itself once its signal has fired. Until then its ledger claim is kept, as a retry beside a
 * handler that still runs would be two at the same time.
 */
const ABORT_GRACE_MS = 5_000;

/** Enters a handler once. Never rejects, whatever the handler throws. */
export async function runHandler(handler: Handler, event: HandledEvent, run: Run): Promise<RunResult> {
  if (run.loss.reason !== undefined) return { kind: 'not entered', reason: run.loss.reason };
  const begun = performance.now();
  const result = await enterOnce(handler, event, run);
  run.metrics?.handlerEnded(handler.name, event.type, run.attempt, result.kind, performance.now() - begun);
  return result;
}

async function enterOnce(handler: Handler, event: HandledEvent, run: Run): Promise<Entered> {
  const { ending, loss, attempt, tx, spans } = run;
  const end = new End(run);
  const onEnding = () => end.come('the worker stops');
  const timer = setTimeout(() => end.come(`it took longer than ${handler.timeoutMs} ms`), handler.timeoutMs);
  loss.listener = (reason) => end.come(reason);
  if (ending.aborted) onEnding();
  else ending.addEventListener('abort', onEnding, { once: true });
  const context = {
    attempt,
    idempotencyKey: `${event.eventId}:${handler.name}`,
    ...(tx && { tx }),
    get signal() {
      return end.signal;
    },
  };
  let span: HandlerSpan | undefined;
  try {
    if (end.reason) throw end.reason;
    span = spans.start(handler.name, event, attempt);
    const entered = span ? span.within(() => enter(handler, event, context)) : enter(handler, event, context);
    entered.catch(() => undefined);
    await Promise.race([entered, end.overdue]);
    span?.end();
    return { kind: 'ran' };
  } catch (caught) {
    // What a handler throws because of its signal says less than why the signal fired.
    const thrown = end.reason ?? caught;
    span?.end({ thrown });
    if (ending.aborted && end.reason) return { kind: 'interrupted', ended: !end.isOverdue };
    return { kind: 'failed', thrown };
  } finally {
    clearTimeout(timer);
    end.clear();
    loss.listener = undefined;
    ending.removeEventListener('abort', onEnding);
  }
}

/** The end of a handler that has not ended by itself: its signal fires, and some time later it is left alone. */
class End {
  reason: HandlerAbortedError | undefined;
  isOverdue = false;
  /** Rejects when the handler has had its time to end. */
  readonly overdue: Promise<never>;
  private timer: NodeJS.Timeout | undefined;
  private reject: (reason: Error) => void = () => undefined;
  private controller: AbortController | undefined;

  constructor(private readonly run: Pick<Run, 'ending' | 'endingGraceMs'>) {
    this.overdue = new Promise((_, reject) => (this.reject = reject));
    this.overdue.catch(() => undefined);
  }

  /** Made when a handler asks for it: most do not, and it costs as much as entering them. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.reason) this.controller.abort(this.reason);
    return this.controller.signal;
  }

  come(message: string): void {
    if (this.reason) return;
    const reason = new HandlerAbortedError(message);
    this.reason = reason;
    this.controller?.abort(reason);
    const { ending, endingGraceMs } = this.run;
    this.timer = setTimeout(
      () => {
        this.isOverdue = true;
        this.reject(reason);
      },
      ending.aborted ? endingGraceMs : ABORT_GRACE_MS,
    );
  }

  clear(): void {
    clearTimeout(this.timer);
  }
}

async function enter(handler: Handler, event: HandledEvent, context: unknown): Promise<void> {
  await (handler.run as (event: HandledEvent, context: unknown) => unknown)(event, context);
}
