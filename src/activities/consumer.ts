import { Context } from '@temporalio/activity';
import type { Config } from '../config';
import type { Intake } from '../consumer/intake';
import type { Membership } from '../consumer/membership';
import type { ReceiveResult } from '../consumer/outcome';
import { receive } from '../consumer/receive';
import type { Source } from '../consumer/source';
import type { Metrics } from '../telemetry/metrics';
import { heartbeating } from './heartbeating';

export interface ConsumerDeps {
  readonly source: Source;
  readonly intake: Intake;
  readonly config: Config;
  readonly metrics?: Metrics | undefined;
  /** Told of each receive, so that it knows when the consumer has lost sight of this worker. */
  readonly membership: Membership;
  /** Aborts when the worker is told to stop: the SDK cancels activities only after the grace time. */
  readonly stopping: AbortSignal;
}

/** The consumer's effects: `receive` for the worker's own queue, `acknowledge` for the one that all share. */
export function createConsumerActivities(deps: ConsumerDeps) {
  return {
    receive: heartbeating((): Promise<ReceiveResult> => {
      const signal = AbortSignal.any([deps.stopping, Context.current().cancellationSignal]);
      const received = () => receive(deps, signal);
      return deps.membership.during(() => deps.metrics?.duringReceive(received) ?? received());
    }),
    /** Retried by its options until some worker has a broker that takes them. */
    acknowledge: heartbeating((replies: readonly string[]): Promise<void> => deps.source.acknowledge(replies)),
  };
}

export type ConsumerActivities = ReturnType<typeof createConsumerActivities>;
