/** What a part of a subject, and a header's name, may be. */
export const TOKEN = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * `<prefix>.<aggregate_type>.<event_type>`. Aggregate ids are never in it: subjects are an index that the broker keeps.
 *
 * @returns `undefined` when a part is no subject token: a dot, a space or a wildcard would publish somewhere else
 */
export function subjectOf(prefix: string, event: { aggregateType: string; eventType: string }): string | undefined {
  if (!TOKEN.test(event.aggregateType) || !TOKEN.test(event.eventType)) return undefined;
  return `${prefix}.${event.aggregateType}.${event.eventType}`;
}
