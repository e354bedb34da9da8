import type { Client } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config';
import { deliveryWorkflowId } from '../deliveries/deliveryId';
import { SEARCH_ATTRIBUTES, searchableHandlers } from '../deliveries/searchAttributes';
import type { deliverEvent } from '../workflows/deliverEvent';
import type { DeliverInput, WaitingDelivery } from '../workflows/deliveryMessages';
import { deadlineIn } from './deadline';
import { isTransport } from './transport';

/** The event of a delivery run: what its page shows. */
export type DeliveryEvent = Pick<DeliverInput, 'eventId' | 'eventType' | 'aggregateType' | 'aggregateId'>;

/** Whoever waits for it holds an event; the sweep makes up for a start that took longer. */
const START_TIMEOUT_MS = 10_000;

/** Temporal answers, and will not have this run: asking again soon would not help. */
export class RunRefusedError extends Error {
  constructor(error: Error) {
    super(error.message, { cause: error });
    this.name = 'RunRefusedError';
  }
}

/** What enters a history of what a handler threw. */
const MAX_REASON = 500;

/** gRPC's code for what the server refuses for good. */
const INVALID_ARGUMENT = 3;
/** Permission and authentication: whatever it is asked, the server refuses. */
const DENIED = new Set([7, 16]);

/** For each of those that have many to start. More would only wait at a server that is busy. */
export const STARTS_AT_ONCE = 4;
/** Of the time by which starts take longer than they could: what is left to the server between two of them. */
const GIVE_WAY = 4;
const LONGEST_PAUSE_MS = 1_000;
/** Asking costs one refused start; whoever registers the attributes sees them used soon. */
const UNSEARCHABLE_MS = 60_000;

/**
 * Starts and reaches delivery runs: at most so many a second, and fewer while Temporal answers slower than it can. The
 * relay needs the same server, and a mass failure that drowns it would stop the healthy events too.
 */
export class DeliveryRuns {
  private client: Client | undefined;
  /** The namespace does not know our search attributes: until then starts go without them. */
  private unsearchableUntil = 0;
  private nextAt = 0;
  private fastestMs = Infinity;
  private recentMs = 0;

  constructor(private readonly config: Config) {}

  use(client: Client | undefined): void {
    this.client = client;
    this.unsearchableUntil = 0;
    // Perhaps another server, or the same at another distance.
    this.fastestMs = Infinity;
    this.recentMs = 0;
  }

  /**
   * Hands deliveries to the event's run, which is started unless it is open. Asking twice is harmless.
   *
   * @throws RunRefusedError, or another Error when Temporal is away. Either way the rows stand in `deliveries`, and the
   *   sweep starts the run later
   */
  async start(event: DeliveryEvent, waiting: readonly WaitingDelivery[]): Promise<void> {
    await this.turn();
    const begun = performance.now();
    const took = () => performance.now() - begun;
    try {
      await this.signalWithStart(event, waiting);
      // It ages: a single lucky one must not make all that follow look slow.
      this.fastestMs = Math.min(took(), 1.01 * this.fastestMs);
    } finally {
      this.recentMs = 0.8 * this.recentMs + 0.2 * took();
    }
  }

  private async signalWithStart(event: DeliveryEvent, waiting: readonly WaitingDelivery[]): Promise<void> {
    const { config, client } = this;
    if (!client) throw new Error('Temporal is away');
    const { eventId, eventType, aggregateType, aggregateId } = event;
    const input: DeliverInput = {
      ...{ eventId, eventType, aggregateType, aggregateId },
      timings: {
        heartbeatTimeoutMs: config.relay.heartbeatTimeoutMs,
        activityRetryMs: config.relay.activityRetryMs,
        backoffFirstMs: config.relay.backoffFirstMs,
        backoffMaxMs: config.relay.backoffMaxMs,
        maxAttempts: config.maxAttempts,
      },
    };
    const attributes = new TypedSearchAttributes([
      { key: SEARCH_ATTRIBUTES.eventType, value: eventType },
      { key: SEARCH_ATTRIBUTES.aggregateId, value: aggregateId.slice(0, 255) },
      { key: SEARCH_ATTRIBUTES.handler, value: searchableHandlers(waiting.map(({ handler }) => handler)) },
    ]);
    const start = (searchable: boolean) =>
      client.withDeadline(deadlineIn(START_TIMEOUT_MS), () =>
        client.workflow.signalWithStart<typeof deliverEvent, [readonly WaitingDelivery[]]>('deliverEvent', {
          workflowId: deliveryWorkflowId(config.schema, eventId),
          taskQueue: config.deliveryTaskQueue,
          args: [input],
          signal: 'deliver',
          // The whole reason stands in `deliveries`.
          signalArgs: [
            waiting.map((delivery) => ({ ...delivery, reason: delivery.reason?.slice(0, MAX_REASON) ?? null })),
          ],
          staticDetails:
            'Sees the failed handlers of one event through: an activity for each attempt, a timer between two. Ends failed when a handler is dead.',
          staticSummary: `${eventType} of ${aggregateType} ${aggregateId.slice(0, 80)}`,
          ...(searchable && { typedSearchAttributes: attributes }),
        }),
      );
    const searchable = performance.now() >= this.unsearchableUntil;
    try {
      await start(searchable);
    } catch (error) {
      if (!searchable || codeOf(error) !== INVALID_ARGUMENT) throw inWords(error);
      // Not registered, of another type, or registered a moment ago: a search attribute must not stop a run.
      await start(false).catch((again: unknown) => {
        throw inWords(again);
      });
      this.unsearchableUntil = performance.now() + UNSEARCHABLE_MS;
    }
  }

  /** One place on the schedule of starts. */
  private async turn(): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.nextAt);
    const least = 1_000 / this.config.handling.runStartsPerSecond;
    const slower = this.fastestMs === Infinity ? 0 : this.recentMs - this.fastestMs;
    this.nextAt = at + Math.max(least, Math.min(GIVE_WAY * slower, LONGEST_PAUSE_MS));
    if (at > now) await sleep(at - now);
  }
}

function codeOf(error: unknown): number | undefined {
  return (error as { cause?: { code?: number } } | null)?.cause?.code;
}

/** The client's own message says which call failed, and not why. */
function inWords(error: unknown): Error {
  const { message, cause } = error as Error & { cause?: { details?: string } };
  const told = new Error(cause?.details ? `${message}: ${cause.details}` : message, { cause: error });
  const code = codeOf(error);
  return code === undefined || DENIED.has(code) || isTransport(error) ? told : new RunRefusedError(told);
}
