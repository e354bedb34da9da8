/** Exit codes of every verb; the last two are those of `reconcile` alone, whose 1 says that there are faults. */
export const EXIT = { done: 0, failed: 1, wrongUse: 2, notSettled: 3, notCompared: 4 } as const;

/** A verb ends with this sentence on stderr and this code; no stack. */
export class CommandFailure extends Error {
  constructor(
    message: string,
    readonly exitCode: number = EXIT.failed,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'CommandFailure';
  }
}

/** Options that do not go together: the part of wrong use that a parser cannot see. */
export function wrongUse(message: string): CommandFailure {
  return new CommandFailure(message, EXIT.wrongUse);
}

/** The error in one sentence. A connection tried over several addresses fails with an error without a message. */
export function sentenceOf(error: unknown): string {
  if (error instanceof AggregateError && !error.message) return error.errors.map(sentenceOf).join('; ');
  if (error instanceof Error) return error.message || error.name;
  return String(error);
}

/** For OUTBOX_LOG_LEVEL=debug: the stack of the error and of all that caused it. */
export function stackOf(error: unknown): string {
  const stacks: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    stacks.push(at.stack ?? at.message);
  }
  return stacks.join('\ncaused by: ');
}
