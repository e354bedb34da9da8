import type { WorkerOptions } from '@temporalio/worker';
import type { Config } from '../config';

/**
 * What makes a worker that runs workflows a version of the installation's deployment; nothing without OUTBOX_BUILD_ID.
 * The behavior is said here and not in the workflows: a worker without versioning must not name any, or the server
 * refuses each of its workflow tasks.
 *
 * @param behavior PINNED: a run ends on the build that it began on. AUTO_UPGRADE: it goes on with the current one
 */
export function versioning(
  { worker }: Config,
  behavior: 'PINNED' | 'AUTO_UPGRADE',
): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  const { buildId, deploymentName } = worker;
  if (buildId === undefined) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName, buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: behavior,
    },
  };
}

/** What gives a version its work: before it is said, nothing is done there. */
export function setCurrentCommand({ worker }: Config, namespace: string): string {
  return (
    `temporal worker deployment set-current-version --namespace ${namespace}` +
    ` --deployment-name ${worker.deploymentName} --build-id ${worker.buildId}`
  );
}
