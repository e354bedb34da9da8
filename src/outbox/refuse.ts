import type { EnqueueErrorKind } from '../errors';

/** Throws the EnqueueError that names the event. */
export type Refuse = (kind: EnqueueErrorKind, message: string, cause?: unknown) => never;

/** What PostgreSQL's `jsonb` and `text` refuse. */
export function textFlaw(text: string): string | undefined {
  if (text.includes('\u0000')) return 'a NUL character (U+0000), which PostgreSQL cannot store';
  if (!text.isWellFormed()) return 'a lone surrogate, which is half a character and no valid text';
  return undefined;
}

/** Of a value that is refused: enough to recognize it by. */
export function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  // An object may have no way to become text.
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : `(${typeof value})`;
}
