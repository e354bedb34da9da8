import type { Handler, HandledEvent, Transaction } from './defineHandler';

/** What became of one entry into a handler. */
export type RunResult =
  | { readonly kind: 'ran' }
  | { readonly kind: 'failed'; readonly thrown: unknown }
  /** Cut short by the worker's stop: not the handler's fault. `ended`: it runs no more. */
  | { readonly kind: 'interrupted'; readonly ended: boolean };

export interface Run {
  /** From 1. */
  readonly attempt: number;
  /** Only for a transactional handler. */
  readonly tx?: Transaction;
  /** Aborts when the worker's grace is nearly over. */
  readonly ending: AbortSignal;
  /** What is left then to a handler that heeds its signal, in milliseconds. */
  readonly endingGraceMs: number;
  /** Aborts when the ledger claim is lost; its reason says how. */
  readonly lost?: AbortSignal;
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
  const controller = new AbortController();
  const { signal } = controller;
  const abort = (reason: string) => controller.abort(new HandlerAbortedError(reason));
  const onEnding = () => abort('the worker stops');
  const onLost = () => abort(String(run.lost?.reason));
  const timer = setTimeout(() => abort(`it took longer than ${handler.timeoutMs} ms`), handler.timeoutMs);
  if (run.ending.aborted) onEnding();
  else run.ending.addEventListener('abort', onEnding, { once: true });
  if (run.lost?.aborted) onLost();
  else run.lost?.addEventListener('abort', onLost, { once: true });

  let overdue: NodeJS.Timeout | undefined;
  let ended = true;
  try {
    const cutOff = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => {
        const grace = run.ending.aborted ? run.endingGraceMs : ABORT_GRACE_MS;
        overdue = setTimeout(() => {
          ended = false;
          reject(signal.reason as Error);
        }, grace);
      });
    });
    cutOff.catch(() => undefined);
    const { attempt, tx } = run;
    const idempotencyKey = `${event.eventId}:${handler.name}`;
    const entered = enter(handler, event, { signal, attempt, idempotencyKey, ...(tx && { tx }) });
    entered.catch(() => undefined);
    await Promise.race([entered, cutOff]);
    return { kind: 'ran' };
  } catch (thrown) {
    if (run.ending.aborted && signal.aborted) return { kind: 'interrupted', ended };
    // What a handler throws because of its signal says less than why the signal fired.
    return { kind: 'failed', thrown: signal.aborted ? signal.reason : thrown };
  } finally {
    clearTimeout(timer);
    clearTimeout(overdue);
    run.ending.removeEventListener('abort', onEnding);
    run.lost?.removeEventListener('abort', onLost);
  }
}

async function enter(handler: Handler, event: HandledEvent, context: unknown): Promise<void> {
  await (handler.run as (event: HandledEvent, context: unknown) => unknown)(event, context);
}
