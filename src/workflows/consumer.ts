import {
  ActivityFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  log,
  patched,
  setCurrentDetails,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import { retryBackoff } from '../backoff';
import type { ReceiveResult } from '../consumer/outcome';
import { consumerDetails } from './consumerDetails';
import { readJoin } from './consumerJoin';
import { listen } from './consumerListeners';
import { ConsumerMemory, Member, type ConsumerInput } from './consumerState';
import { consumerStepsOf } from './consumerSteps';
import { isRollOverDue, rollOver } from './rollOver';

/** Reply subjects of one acknowledgement: some 80 KB. */
const ACKNOWLEDGED_AT_ONCE = 1_000;
const FAULT_PAUSE_MS = 5_000;

/**
 * Lets each worker that has joined receive, for ever: one `receive` is open on the worker's own queue. A worker that takes
 * none is forgotten; one that is alive joins again by itself. A request to cancel it is carried out as a pause is, and
 * then ends it.
 */
export async function consumer(input: ConsumerInput): Promise<void> {
  const { cancelRequested } = CancellationScope.current();
  // A cancelled scope rejects everything in it, at once and for ever: receives would end without their counts.
  return CancellationScope.nonCancellable(() => run(input, cancelRequested));
}

async function run(input: ConsumerInput, cancelRequested: Promise<unknown>): Promise<void> {
  const memory = new ConsumerMemory(input);
  /** Each receive that can be cut short. */
  const open = new Set<CancellationScope>();
  let acknowledgement: CancellationScope | undefined;
  let serving = 0;
  let acknowledging = false;
  let wakes = 0;

  const endReceives = () => open.forEach((scope) => scope.cancel());
  const show = () => setCurrentDetails(consumerDetails(memory.status(), memory.stateSince(new Date())));
  // Before the handlers are set: a join that came with the start is read in that moment, and served by itself.
  for (const member of memory.members.values()) void serve(member);
  listen(memory, { join, pause, resume, wake: () => void wakes++, show });
  cancelRequested.catch(() => {
    memory.cancelled = true;
  });
  void acknowledgeAll();
  show();

  await condition(shouldLeave);
  memory.rollingOver = !memory.cancelled;
  show();
  endReceives();
  acknowledgement?.cancel();
  await condition(() => serving === 0 && !acknowledging && allHandlersFinished());
  if (memory.cancelled)
    throw new CancelledFailure('The consumer was cancelled; the next worker that joins begins another');
  await rollOver<typeof consumer>(memory.carry());

  /** Never rejects. Ends when the worker is gone, or this run is over. */
  async function serve(member: Member): Promise<void> {
    serving++;
    while (!shouldLeave() && memory.members.get(member.queue) === member) {
      if (memory.paused) {
        await condition(() => !memory.paused || shouldLeave());
        continue;
      }
      const result = await receiveOn(member);
      if (result) await digest(member, result);
      show();
    }
    serving--;
  }

  /** @returns `undefined` when it was cut short, or the worker is gone */
  async function receiveOn(member: Member): Promise<ReceiveResult | undefined> {
    member.state = 'receiving';
    let scope: CancellationScope | undefined;
    let failure: unknown;
    try {
      return await CancellationScope.cancellable(() => {
        scope = CancellationScope.current();
        open.add(scope);
        return consumerStepsOf(member.timings).receive(member.queue)();
      });
    } catch (error) {
      failure = error;
    } finally {
      if (scope) open.delete(scope);
      member.state = 'resting';
    }
    if (!isCancellation(failure)) await fail(member, failure);
    return undefined;
  }

  async function digest(member: Member, result: ReceiveResult): Promise<void> {
    memory.received(member, result, new Date());
    member.silent = member.joinedAgain = false;
    void acknowledgeAll();
    if (result.kind === 'left') memory.members.delete(member.queue);
    else if (result.kind === 'received') member.failures = 0;
    else await waitOn(member, result.reason ?? 'the broker is away');
  }

  async function fail(member: Member, error: unknown): Promise<void> {
    const cause = error instanceof ActivityFailure && error.cause ? error.cause : error;
    if (cause instanceof TimeoutFailure) {
      // Killed, or cut off from Temporal, or Temporal itself was away: whoever lives takes the next receive sooner than it
      // would join again. Only once: a process that stands still takes in one after the other, and would begin them all at
      // the same time. Runs of older builds know no second receive.
      const mayLive = member.joinedAgain || (cause.timeoutType !== 'SCHEDULE_TO_START' && !member.silent);
      if (mayLive && patched('receive-again-after-silence')) {
        member.silent = true;
        member.joinedAgain = false;
        log.info('Nothing was heard of a receive: its worker is asked for another', { worker: member.queue });
        return;
      }
      memory.members.delete(member.queue);
      memory.add({ lostWorkers: 1 });
      log.warn('A worker is gone; it joins again if it is alive', { worker: member.queue });
      return;
    }
    await waitOn(member, `The receive failed: ${cause instanceof Error ? cause.message : String(cause)}`);
  }

  /** On the shared schedule, one place for each worker: the others receive meanwhile. */
  async function waitOn(member: Member, reason: string): Promise<void> {
    member.state = 'waiting';
    member.reason = reason.slice(0, 300);
    member.failures++;
    memory.error(reason, new Date());
    show();
    const seen = wakes;
    const { backoffFirstMs, backoffMaxMs } = member.timings;
    const wait = retryBackoff(member.failures, backoffFirstMs, backoffMaxMs);
    await condition(() => wakes !== seen || memory.paused || shouldLeave(), wait, { summary: 'waits for the broker' });
    member.state = 'resting';
  }

  /** One at a time, beside the receives. Never rejects. */
  async function acknowledgeAll(): Promise<void> {
    if (acknowledging) return;
    acknowledging = true;
    while (memory.unsettled.length > 0 && !shouldLeave()) {
      const replies = memory.unsettled.splice(0, ACKNOWLEDGED_AT_ONCE);
      try {
        await CancellationScope.cancellable(() => {
          acknowledgement = CancellationScope.current();
          return consumerStepsOf(memory.timings).acknowledge(replies);
        });
        memory.add({ acknowledgedElsewhere: replies.length });
      } catch (error) {
        memory.unsettled.unshift(...replies);
        // Retried for ever by its options, so this is a fault of the set-up; without a pause it would spin.
        if (!isCancellation(error)) await sleep(FAULT_PAUSE_MS);
      }
      show();
    }
    acknowledging = false;
  }

  function shouldLeave(): boolean {
    return memory.cancelled || memory.rollingOver || isRollOverDue(memory.timings.rollOverEvents);
  }

  function join(input: unknown): void {
    const request = readJoin(input);
    if (!request) return;
    const known = memory.members.get(request.queue);
    if (known) {
      known.timings = request.timings;
      known.joinedAgain = true;
      return;
    }
    const member = new Member(request.queue, request.timings);
    memory.members.set(member.queue, member);
    memory.timings = request.timings;
    if (!shouldLeave()) void serve(member);
    show();
  }

  function pause(): boolean {
    const changed = memory.pause(new Date());
    endReceives();
    show();
    return changed;
  }

  function resume(): boolean {
    const changed = memory.resume();
    show();
    return changed;
  }
}
