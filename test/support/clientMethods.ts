/** A call of something that is not the project's own. */
export interface Called {
  /** Where the method is declared. */
  readonly file: string;
  /** The type that declares it. */
  readonly owner: string;
  readonly method: string;
}

/** Packages whose methods reach servers, and what of them only looks, or only concerns the connection itself. */
const LOOKS: Readonly<Record<string, readonly string[]>> = {
  '@nats-io/jetstream': [
    ...['info', 'list', 'names', 'get', 'getMessage', 'getAccountInfo', 'next', 'consume', 'delete'],
  ],
  '@nats-io/nats-core': ['append', 'get', 'close', 'rtt', 'status', 'stop', 'flush'],
  '@temporalio/client': [
    ...['getHandle', 'describe', 'query', 'count', 'list', 'withDeadline', 'connect', 'close', 'result'],
    ...['isGrpcCancelledError', 'isGrpcDeadlineError', 'isGrpcServiceError'],
  ],
  '@temporalio/common': ['create', 'nonRetryable', 'retryable', 'fromPayload', 'toPayload', 'get'],
  '@temporalio/proto': [
    ...['listSearchAttributes', 'describeNamespace', 'describeTaskQueue', 'describeWorkerDeployment', 'getSystemInfo'],
  ],
  '@types/pg': ['connect', 'end', 'on', 'off', 'once', 'release', 'getTransactionStatus'],
};

/** Exceptions from the above, by `<owner>.<method>`: the same name means another thing there. */
const CHANGES = new Set(['Consumer.next', 'StreamAPI.delete', 'ConsumerAPI.delete']);

/**
 * Whether a call changes something outside the process. A method that stands in neither list counts as one, so that
 * whoever uses it first has to judge it.
 *
 * @param argument of a statement: whether its text can be read where it is sent
 * @returns what it does; undefined for nothing
 */
export function clientEffect({ file, owner, method }: Called, argument: 'text' | 'other'): string | undefined {
  if (file.endsWith('src/handlers/defineHandler.ts') && method === 'run') return 'enters a handler';
  const [, name = ''] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
  const looks = LOOKS[name];
  if (!looks) return undefined;
  if (name === '@types/pg' && method === 'query')
    return argument === 'text' ? undefined : 'sends a statement whose text is not read here';
  if (looks.includes(method) && !CHANGES.has(`${owner}.${method}`)) return undefined;
  return `calls ${owner === '' ? '' : `${owner}.`}${method} of ${name}`;
}
