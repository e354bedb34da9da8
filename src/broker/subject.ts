import { NAME } from '../event';

/**
 * `<prefix>.<aggregate_type>.<event_type>`. Aggregate ids are never in it: subjects are an index that the broker keeps.
 *
 * @returns `undefined` when a part is no subject token: a dot, a space or a wildcard would publish somewhere else
 */
export function subjectOf(prefix: string, event: { aggregateType: string; eventType: string }): string | undefined {
  if (!NAME.test(event.aggregateType) || !NAME.test(event.eventType)) return undefined;
  return `${prefix}.${event.aggregateType}.${event.eventType}`;
}
