import { patched, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { SEARCH_ATTRIBUTES, searchableHandlers } from '../deliveries/searchAttributes';

/**
 * Adds to the run's search attribute the handlers that came after its start, so that it is found by each of them. A run
 * that was started without the attribute is left without: where it is not registered, naming it would fail the workflow
 * task for ever.
 */
export function nameHandlers(handlers: readonly string[]): void {
  const named = workflowInfo().typedSearchAttributes.get(SEARCH_ATTRIBUTES.handler);
  if (!named || handlers.every((handler) => named.includes(handler))) return;
  const all = searchableHandlers([...new Set([...named, ...handlers])]);
  // Open runs of an older build have not done this.
  if (all.length > named.length && patched('handlers-in-search-attribute'))
    upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.handler, value: all }]);
}
