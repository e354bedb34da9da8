/** Something that is named in the sources and is not the project's own. */
export interface Named {
  /** Where it is declared. */
  readonly file: string;
  /** The type that declares it; empty: a function. */
  readonly owner: string;
  readonly method: string;
}

/**
 * Packages whose methods reach servers, and what of them only looks, or only concerns the process and its connection: by
 * the type that declares it, since `get` of the headers reads and `get` of the consumers may make one.
 */
const LOOKS: Readonly<Record<string, readonly string[]>> = {
  '@nats-io/jetstream': [
    ...['.jetstream', '.jetstreamManager', 'JetStreamManager.getAccountInfo', 'Lister.next'],
    ...['StreamAPI.info', 'StreamAPI.list', 'StreamAPI.names', 'StreamAPI.getMessage'],
    ...['ConsumerAPI.info', 'ConsumerAPI.list', 'InfoableConsumer.info'],
  ],
  '@nats-io/nats-core': [
    ...['.createInbox', '.credsAuthenticator', '.headers', '.nanos', '.nkeyAuthenticator'],
    ...['MsgHdrs.append', 'MsgHdrs.get', 'QueuedIterator.stop'],
    ...['NatsConnection.close', 'NatsConnection.flush', 'NatsConnection.rtt', 'NatsConnection.status'],
  ],
  nats: ['.connect'],
  '@temporalio/client': [
    ...['.isGrpcCancelledError', '.isGrpcDeadlineError', '.isGrpcServiceError'],
    ...['BaseClient.withDeadline', 'Connection.close', 'Connection.connect', 'Connection.withDeadline'],
    ...['ScheduleClient.getHandle', 'ScheduleHandle.describe'],
    ...['WorkflowClient.count', 'WorkflowClient.getHandle', 'WorkflowHandle.describe', 'WorkflowHandle.query'],
  ],
  '@temporalio/common': [
    ...['.defineSearchAttributeKey', 'ApplicationFailure.create', 'ApplicationFailure.nonRetryable'],
    ...['CompositePayloadConverter.fromPayload', 'TypedSearchAttributes.get'],
  ],
  '@temporalio/proto': [
    ...['OperatorService.listSearchAttributes', 'WorkflowService.describeNamespace'],
    ...['WorkflowService.describeTaskQueue', 'WorkflowService.describeWorkerDeployment'],
    'WorkflowService.getSystemInfo',
  ],
  '@temporalio/envconfig': ['.loadClientConfigProfile', '.toClientOptions'],
  // A worker reports of its tasks, and a task that it has not reported is given to another.
  '@temporalio/worker': [
    ...['NativeConnection.close', 'NativeConnection.connect', 'Runtime.install'],
    ...['Worker.create', 'Worker.getState', 'Worker.run', 'Worker.shutdown'],
  ],
  '@temporalio/activity': ['.activityInfo', '.heartbeat', 'Context.current', 'Context.heartbeat'],
  '@types/pg': [
    ...['Client.connect', 'Client.end', 'ClientBase.getTransactionStatus', 'ClientBase.on'],
    ...['Pool.connect', 'Pool.end', 'Pool.on', 'PoolClient.release'],
  ],
};

/**
 * Packages that reach no server of ours. What a workflow orders of Temporal stands in its history, which the server takes
 * as a whole or not at all.
 */
const HARMLESS = new Set([
  ...['@opentelemetry/api', '@standard-schema/spec', '@temporalio/workflow', '@types/cli-progress', '@types/node'],
  ...['commander', 'fflate', 'lossless-json', 'picocolors', 'pino', 'pino-pretty', 'typescript', 'undici-types'],
  ...['uuid', 'zod'],
]);

/**
 * Whether what is named changes something outside the process. What stands in neither list counts as if it did, so that
 * whoever uses it first has to judge it.
 *
 * @param statement of a query: whether its text is read where it is sent
 * @returns what it does; undefined for nothing
 */
export function clientEffect({ file, owner, method }: Named, statement: 'read' | 'not read'): string | undefined {
  if (file.endsWith('src/handlers/defineHandler.ts') && method === 'run') return 'enters a handler';
  const [, name = ''] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
  if (method === 'query' && (name === '@types/pg' || name === ''))
    return statement === 'read' ? undefined : 'sends a statement whose text is not read here';
  if (name === '' || HARMLESS.has(name) || LOOKS[name]?.includes(`${owner}.${method}`)) return undefined;
  return `names ${owner === '' ? '' : `${owner}.`}${method} of ${name}`;
}
