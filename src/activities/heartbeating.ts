import { Context } from '@temporalio/activity';
import { asFailure } from './failure';

/** Often enough for the server's time-out; the SDK sends only what that needs. */
const HEARTBEAT_EVERY_MS = 500;

/** What an activity throws becomes Temporal's. */
export function mappingErrors<Args extends unknown[], Result>(run: (...args: Args) => Promise<Result>) {
  return async (...args: Args): Promise<Result> => {
    try {
      return await run(...args);
    } catch (error) {
      throw asFailure(error);
    }
  };
}

/** Heartbeats while `run` is at work, so that a worker that is gone is noticed within the heartbeat time-out. */
export function heartbeating<Args extends unknown[], Result>(run: (...args: Args) => Promise<Result>) {
  return mappingErrors((...args: Args) => whileHeartbeating(() => run(...args)));
}

/** @param details what the next attempt is told. Part of every heartbeat, as one without would take it away again */
export async function whileHeartbeating<Result>(run: () => Promise<Result>, details?: () => unknown): Promise<Result> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(details?.()), HEARTBEAT_EVERY_MS);
  try {
    return await run();
  } finally {
    clearInterval(timer);
  }
}
