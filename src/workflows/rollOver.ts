import { workflowInfo } from '@temporalio/workflow';

/** A run whose limit is nearer than its first pass would continue as new for ever and move nothing. */
const MIN_ROLL_OVER_EVENTS = 50;

/** @param limit history events after which a run continues as new; 0 leaves it to the server's suggestion */
export function isRollOverDue(limit: number): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || (limit > 0 && historyLength >= Math.max(limit, MIN_ROLL_OVER_EVENTS));
}
