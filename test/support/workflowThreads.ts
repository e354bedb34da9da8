import v8 from 'node:v8';

/**
 * Has the workers inside this process run workflows in its own thread. In production each Temporal worker starts a thread
 * for them, which reads the SDK's protobufs and gRPC anew: an outbox worker with handlers has two, and at nearly a second
 * of CPU time for a start they were a large part of what all tests cost. The bundle and the VM that it runs in are the
 * same. The workers that are processes of their own run as in production, and the SDK replays histories this way too.
 */
export function withoutWorkflowThreads(): void {
  process.env.TEMPORAL_DEBUG = 'true';
  // The SDK would look at every promise of the thread, for Temporal's stack trace query, and never stop: the files that
  // this process runs later would pay for all before them. A copy, since Node's own AsyncLocalStorage uses the original.
  Object.assign(v8, { promiseHooks: { ...v8.promiseHooks, createHook: () => () => undefined } });
}

/** What a process of its own gets of this one's environment: there, workflows have their threads. */
export function withWorkflowThreads(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, TEMPORAL_DEBUG: undefined };
}

/**
 * The SDK also replaces how errors print their stacks; for most classes it then names lines of the compiled test.
 *
 * @param start starts a worker in this process
 */
export async function keepingStacks<T>(start: () => Promise<T>): Promise<T> {
  const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  try {
    return await start();
  } finally {
    if (before) Object.defineProperty(Error, 'prepareStackTrace', before);
  }
}
