/**
 * The text as PostgreSQL and a log line can hold it: at most `max` characters, without NUL and half characters. Cut
 * before it is looked through, so that a text of any length costs the same.
 */
export function storable(text: string, max: number): string {
  const cut = text.length > max ? `${text.slice(0, Math.max(0, max - 1))}…` : text;
  return cut.replaceAll('\u0000', ' ').toWellFormed();
}
