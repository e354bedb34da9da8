import { makeContinueAsNewFunc, workflowInfo, type Workflow } from '@temporalio/workflow';

/** A run whose limit is nearer than its first pass would continue as new for ever and move nothing. */
const MIN_ROLL_OVER_EVENTS = 50;

/**
 * Time to continue as new: the server suggests it, the limit is reached, or this run is pinned to a build that is not
 * the current one any more.
 *
 * @param limit history events after which a run continues as new; 0 leaves it to the server's suggestion
 */
export function isRollOverDue(limit: number): boolean {
  const { continueAsNewSuggested, targetWorkerDeploymentVersionChanged, historyLength } = workflowInfo();
  return (
    continueAsNewSuggested ||
    targetWorkerDeploymentVersionChanged ||
    (limit > 0 && historyLength >= Math.max(limit, MIN_ROLL_OVER_EVENTS))
  );
}

/** Continues as new: on the current build when that has changed, otherwise where this run is. */
export function rollOver<F extends Workflow>(...args: Parameters<F>): Promise<never> {
  const { targetWorkerDeploymentVersionChanged } = workflowInfo();
  return makeContinueAsNewFunc<F>(
    targetWorkerDeploymentVersionChanged ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {},
  )(...args);
}
