import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  continueAsNew,
  isCancellation,
  log,
  patched,
  setCurrentDetails,
  setDefaultSignalHandler,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { retryBackoff } from '../backoff';
import { deliveryDetails } from './deliveryDetails';
import { DeliveryMemory, type Delivery } from './deliveryMemory';
import {
  deliverSignal,
  deliveryStatusQuery,
  retryNowSignal,
  skipSignal,
  type AttemptFailure,
  type AttemptResult,
  type DeliverInput,
  type CarriedDelivery,
} from './deliveryMessages';
import { readDeliveries, readRetryNow, readSkip } from './deliveryOrders';
import { nameHandlers } from './deliverySearch';
import { deliveryStepsOf } from './deliverySteps';

/**
 * After an attempt whose end was not written: its worker is lost, or PostgreSQL is away. On the shared schedule, since in an
 * outage each due run tries again, and a thousand of them each second would leave the slots to nothing else. Its last wait
 * is short: when PostgreSQL answers again, every run is back at work within some ten seconds.
 */
const UNKNOWN_FIRST_MS = 1_000;
const UNKNOWN_MAX_MS = 8_000;
const UNTOLD_MS = 60_000;

/**
 * Sees the failed handlers of one event through: one activity for each attempt, a timer between two. Ends when none waits;
 * ends failed when one is dead, so that the failed runs of the Temporal UI are the dead letters.
 */
export async function deliverEvent(input: DeliverInput): Promise<void> {
  const memory = new DeliveryMemory();
  const steps = deliveryStepsOf(input.timings);
  const { maxAttempts } = input.timings;
  const { eventId, eventType } = input;
  const about = { eventId, eventType };
  let loops = 0;
  let rollingOver = false;
  const show = () => setCurrentDetails(deliveryDetails(memory.status(eventId), maxAttempts));

  setHandler(deliveryStatusQuery, () => memory.status(eventId), {
    description: 'Which handlers wait, how often they were tried, why they failed, when they are tried next',
  });
  setHandler(deliverSignal, (given: unknown) => receive(readDeliveries(given, about)), {
    description: 'Sent by workers: see these handlers through',
  });
  setHandler(retryNowSignal, (given: unknown) => retryNow(readRetryNow(given)), {
    description: 'End the wait and try now: {} or {"handler": "…"}',
  });
  setHandler(
    skipSignal,
    (given: unknown) => {
      const request = readSkip(given);
      const delivery = request && memory.get(request.handler);
      if (!delivery) return log.warn('A skip signal was ignored: send {"handler": "…", "reason": "…"}', about);
      delivery.skip = request.reason;
      delivery.nudged = true;
      if (delivery.state === 'dead') begin(delivery);
    },
    { description: 'Give a handler up on purpose: {"handler": "…", "reason": "…"}' },
  );
  setDefaultSignalHandler((name) =>
    log.warn('A signal that a delivery run does not know was ignored', { ...about, signal: name.slice(0, 100) }),
  );
  receive(input.carried ?? []);

  // The signal that starts a run may be handled after this line; a run that nobody tells anything has nothing to do.
  await condition(() => memory.all.length > 0, UNTOLD_MS);
  await condition(() => loops === 0);
  if (rollingOver && memory.waiting.length > 0) {
    await continueAsNew<typeof deliverEvent>({ ...input, carried: memory.carry(Date.now()) });
  }
  show();
  const dead = memory.all.find(({ state }) => state === 'dead');
  if (dead) {
    const message = `${dead.handler} gave the event up after ${dead.attempts} attempts: ${dead.reason ?? 'no reason'}`;
    throw ApplicationFailure.nonRetryable(message.slice(0, 1_000), 'DeadLetter');
  }

  function receive(given: readonly CarriedDelivery[]): void {
    for (const waiting of given) {
      const delivery = memory.receive(waiting, Date.now());
      if (delivery) begin(delivery);
    }
    nameHandlers(memory.all.map(({ handler }) => handler));
    show();
  }

  function begin(delivery: Delivery): void {
    delivery.state = 'waiting';
    loops++;
    void seeThrough(delivery)
      // Cancelled: the run ends, and the sweep starts another while the delivery waits.
      .catch(() => undefined)
      .finally(() => {
        loops--;
        show();
      });
  }

  function retryNow(handler: string | undefined): void {
    for (const delivery of memory.waiting) if (!handler || delivery.handler === handler) delivery.nudged = true;
  }

  /** Never rejects: an attempt ends in one of the results it knows, or is tried again. */
  async function seeThrough(delivery: Delivery): Promise<void> {
    let unknownInARow = 0;
    while (delivery.state === 'waiting') {
      await wait(delivery);
      if (rollingOver) return;
      if (delivery.skip !== undefined) {
        const { handler, attempts, skip } = delivery;
        await steps.skip({ eventId, eventType, handler, attempts, reason: skip });
        delivery.state = 'skipped';
        delivery.reason = delivery.skip;
        return;
      }
      delivery.nudged = false;
      delivery.state = 'running';
      show();
      const result = await attempt(delivery);
      unknownInARow = result ? 0 : unknownInARow + 1;
      apply(delivery, result ?? unknownEnd(delivery.attempts, unknownInARow));
      show();
      rollingOver ||= workflowInfo().continueAsNewSuggested;
    }
  }

  async function wait(delivery: Delivery): Promise<void> {
    // A nudge may bring the time forward while the timer runs, so it is looked at again.
    for (;;) {
      const { dueAt } = delivery;
      const left = dueAt - Date.now();
      if (left <= 0 || delivery.nudged || rollingOver) return;
      const summary = `${delivery.handler}: ${attemptOf(delivery)}`;
      await condition(() => delivery.nudged || rollingOver || delivery.dueAt < dueAt, left, { summary });
    }
  }

  function attemptOf({ attempts }: Pick<Delivery, 'attempts'>): string {
    return `attempt ${attempts + 1}${maxAttempts === undefined ? '' : ` of ${maxAttempts}`}`;
  }

  /** @returns `undefined` when nobody knows how it ended */
  async function attempt({ handler, attempts }: Delivery): Promise<AttemptResult | AttemptFailure | undefined> {
    try {
      return await steps.attempt(handler, { eventId, attempts }, attemptOf({ attempts }));
    } catch (error) {
      if (isCancellation(error)) throw error;
      return failureOf(error);
    }
  }

  function apply(delivery: Delivery, result: AttemptResult | AttemptFailure): void {
    if (result.kind === 'done') {
      delivery.state = 'done';
      delivery.reason = null;
      return;
    }
    delivery.attempts = result.attempts;
    delivery.reason = result.reason;
    delivery.dueAt = Date.now() + result.dueInMs;
    // Skipped while its last attempt ran: it is given up on purpose, and no dead letter.
    delivery.state = result.kind === 'dead' && delivery.skip === undefined ? 'dead' : 'waiting';
  }
}

/** A failed attempt has written what became of it, and says so in its details. */
function failureOf(error: unknown): AttemptFailure | undefined {
  if (!(error instanceof ActivityFailure) || !(error.cause instanceof ApplicationFailure)) return undefined;
  const [details] = (error.cause.details ?? []) as (AttemptFailure | undefined)[];
  return details && ['failed', 'dead'].includes(details.kind) ? details : undefined;
}

/** The next attempt finds out, by the ledger, whether this one counts. */
function unknownEnd(attempts: number, inARow: number): AttemptResult {
  const reason = 'the end of the last attempt is unknown: its worker or PostgreSQL was away';
  // Runs of older builds waited for the first time again: a longer wait here would be a second timer for them.
  const step = inARow > 1 && patched('unknown-ends-back-off') ? inARow : 1;
  return { kind: 'deferred', attempts, dueInMs: retryBackoff(step, UNKNOWN_FIRST_MS, UNKNOWN_MAX_MS), reason };
}
