export type RefusalKind = 'not found' | 'gone' | 'conflict' | 'not allowed' | 'invalid';

/** A use case says no, for a reason that the caller can act on. Nothing was written. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly kind: RefusalKind,
    message: string,
  ) {
    super(message);
  }
}
