import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';

/** What delivery runs are found by in the Temporal UI. Each is registered once in a namespace. */
export const SEARCH_ATTRIBUTES = {
  eventType: defineSearchAttributeKey('OutboxEventType', SearchAttributeType.KEYWORD),
  aggregateId: defineSearchAttributeKey('OutboxAggregateId', SearchAttributeType.KEYWORD),
  handler: defineSearchAttributeKey('OutboxHandler', SearchAttributeType.KEYWORD_LIST),
};

/** A server takes 2 KB of a value, JSON's quotes and commas included. */
const MAX_BYTES = 2_000;

/** As many of the names as a server takes: one that is too long refuses a start, and fails a workflow task. */
export function searchableHandlers(names: readonly string[]): string[] {
  let bytes = 2;
  return names.filter((name) => (bytes += name.length + 3) <= MAX_BYTES);
}
