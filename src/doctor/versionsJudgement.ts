import { fault, ok, warning, type Found } from './finding';

/** What Temporal knows of the builds of an installation. */
export interface Versions {
  readonly namespace: string;
  readonly deploymentName: string;
  /** OUTBOX_BUILD_ID of these settings. */
  readonly own: string | undefined;
  /** Null: no build is. */
  readonly current: string | null;
  /** Builds whose workers poll the installation's task queue. */
  readonly polling: ReadonlySet<string>;
  /** Workers without a build poll it. */
  readonly unversioned: boolean;
  /** Relay and consumer, with the build that they are pinned to. */
  readonly runs: readonly { readonly name: string; readonly workflowId: string; readonly build: string | null }[];
  /** What makes a build the current one. */
  readonly command: (buildId: string) => string;
}

/** Nothing, where nobody uses worker versioning. */
export function judgeVersions(versions: Versions): Found[] {
  const { own, current, runs } = versions;
  if (own === undefined && current === null && runs.every(({ build }) => build === null)) return [];
  const found = [...judgeCurrent(versions), ...runs.flatMap((run) => judgeRun(run, versions))];
  if (found.length > 0) return found;
  return [
    ok(`Build ${current} is the current version of the deployment ${versions.deploymentName}, and its workers poll.`),
  ];
}

function judgeCurrent({ deploymentName, own, current, polling, unversioned, command }: Versions): Found[] {
  if (current === null) {
    if (own === undefined) return [];
    const tell = unversioned ? warning : fault;
    const what = `The deployment ${deploymentName} has no current version, so workers of build ${own} poll and get no work.`;
    return [tell(what, `Run: ${command(own)}`)];
  }
  if (!polling.has(current)) {
    const other = own ?? [...polling][0];
    const instead =
      other === undefined || other === current ? '' : `, or make build ${other} the current one: ${command(other)}`;
    return [
      fault(
        `Build ${current} is the current version of the deployment ${deploymentName}, and no worker of it polls: what is to go on there waits.`,
        `Start workers with OUTBOX_BUILD_ID=${current}${instead}`,
      ),
    ];
  }
  if (own !== undefined && own !== current) {
    return [
      warning(
        `Build ${current} is the current version of the deployment ${deploymentName}, so workers of build ${own}, as these settings have it, get no work.`,
        `When they are to have it, run: ${command(own)}`,
      ),
    ];
  }
  if (own === undefined && unversioned) {
    return [
      warning(
        `Build ${current} is the current version of the deployment ${deploymentName}, so workers without OUTBOX_BUILD_ID get no work.`,
        `Give them the build, or take the work from it: ${command(current).replace(/--build-id .*/, '--unversioned')}`,
      ),
    ];
  }
  return [];
}

function judgeRun(
  { name, workflowId, build }: Versions['runs'][number],
  { namespace, current, polling }: Versions,
): Found[] {
  if (build === null) return [];
  const of = `--namespace ${namespace} --workflow-id ${workflowId}`;
  if (!polling.has(build)) {
    return [
      fault(
        `The ${name} ${workflowId} is pinned to build ${build}, of which no worker polls: it stands still, and events wait.`,
        `Start a worker with OUTBOX_BUILD_ID=${build}, or move it to the current version: temporal workflow update-options ${of} --versioning-override-behavior auto_upgrade`,
      ),
    ];
  }
  if (build === current) return [];
  return [
    warning(
      `The ${name} ${workflowId} is on build ${build}, and moves to ${current === null ? 'workers without a build' : `the current ${current}`} when its pass is over.`,
      `Keep the workers of build ${build} until then, a minute when nothing is due. What stays has an override: temporal workflow describe ${of}`,
    ),
  ];
}
