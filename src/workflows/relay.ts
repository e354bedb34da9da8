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
} from '@temporalio/workflow';
import { retryBackoff } from '../backoff';
import type { BatchOutcome, ClaimResult } from '../relay/outcome';
import { details } from './details';
import { listen } from './listeners';
import { canHandOn, canRollOver, carryOutReemits } from './reemits';
import { isRollOverDue, rollOver } from './rollOver';
import { RelayMemory, type RelayInput } from './state';
import { stepsOf } from './steps';

/** Batches that are being settled while the next is collected. More would hold more rows without being faster. */
const MAX_OPEN_BATCHES = 2;
/** Tries in a row before the relay believes that no worker has a broker: each worker gets its chance to answer. */
const PROBES_AT_ONCE = 4;
const FAULT_PAUSE_MS = 5_000;

/**
 * Moves events from the outbox to the broker for ever: `claim`, then `publish` and `mark` beside the next claim.
 * A request to cancel it is carried out as a pause is, and then ends it: nothing is left half done.
 */
export async function relay(input: RelayInput): Promise<void> {
  const { cancelRequested } = CancellationScope.current();
  // A cancelled scope rejects everything in it, at once and for ever: the loop would spin, and batches stay unsettled.
  return CancellationScope.nonCancellable(() => run(input, cancelRequested));
}

async function run(input: RelayInput, cancelRequested: Promise<unknown>): Promise<void> {
  const memory = new RelayMemory(input);
  let openClaim: CancellationScope | undefined;
  let woken = false;
  /** Rows may be left behind by what ran before, or by a claim that ended without a result. */
  let untidy = true;
  let probesInARow = 0;
  let newestToken: string | undefined;

  /** Runs of older builds publish nothing from when a roll-over is due, however long it has to wait. */
  const goesOn = patched('publishes-beside-reemits');
  /** Re-emits by signal leave the roll-over the next moment between two of them: a flood of them would have none. */
  let yields = false;

  const openBatches = () => memory.timings.openBatches ?? MAX_OPEN_BATCHES;
  const isDue = () => isRollOverDue(memory.timings.rollOverEvents);
  const shouldLeave = () => memory.cancelled || (isDue() && (!goesOn || canRollOver(memory)));
  const mayEnd = () => memory.quiet && allHandlersFinished() && canHandOn(memory);
  const endClaim = () => openClaim?.cancel();
  const show = () => setCurrentDetails(details(memory.status(), memory.stateSince(new Date())));
  listen(memory, { pause, wake });
  cancelRequested.catch(() => {
    memory.cancelled = true;
    endClaim();
  });
  show();
  void carryOutReemits(memory, () => !yields && !memory.leaving, reemitted);

  do {
    memory.rollingOver = false;
    while (!shouldLeave()) {
      yields = goesOn && isDue() && memory.reemitting;
      if (memory.paused) await condition(() => !memory.paused || shouldLeave());
      else if (probesInARow >= PROBES_AT_ONCE) await waitForBroker();
      else if (memory.open.size >= openBatches())
        await condition(() => memory.open.size < openBatches() || memory.paused);
      else await pass();
      show();
    }
    memory.rollingOver = !memory.cancelled;
    show();
    // What is asked for while batches are being settled may take long, too.
    await condition(() => mayEnd() || (goesOn && !shouldLeave()));
  } while (!mayEnd());

  if (memory.cancelled)
    throw new CancelledFailure('The relay was cancelled; the next worker that starts begins another');
  await rollOver<typeof relay>(memory.carry());

  async function pass(): Promise<void> {
    woken = false;
    memory.claiming = true;
    let result: ClaimResult;
    try {
      result = await CancellationScope.cancellable(() => {
        openClaim = CancellationScope.current();
        return stepsOf(memory.timings).claim({ openTokens: [...memory.open.keys()], tidy: untidy });
      });
      untidy = false;
    } catch (error) {
      await giveUpClaim(error);
      return;
    } finally {
      memory.claiming = false;
      openClaim = undefined;
    }
    memory.timings = result.timings;
    if (result.kind === 'away') {
      probesInARow++;
      if (memory.worker === result.queue) memory.worker = null;
      memory.error(result.reason, new Date());
      return;
    }
    probesInARow = 0;
    if (result.kind === 'batch') {
      memory.passed(result.rows, result.lagMs, new Date());
      memory.worker = result.queue;
      newestToken = result.token;
      memory.open.set(result.token, result.rows);
      void settle(result.token, result.queue);
    } else if (result.kind === 'ended') {
      memory.passed(result.rows, result.lagMs, new Date());
      memory.settled(result.settled, new Date());
    } else {
      memory.brokerBack();
      memory.lagMs = 0;
    }
  }

  /**
   * A claim that ends without a result may still be at work: its worker is frozen, or cut off. A newer fence ends it
   * before anybody is told that no claim is open; otherwise it would go on publishing after a pause.
   */
  async function giveUpClaim(error: unknown): Promise<void> {
    untidy = true;
    await stepsOf(memory.timings).fence();
    if (isCancellation(error) || memory.paused || memory.cancelled) return;
    // Retried for ever by its options, so this is a fault of the set-up; without a pause it would spin.
    const cause = error instanceof ActivityFailure && error.cause ? error.cause : error;
    memory.error(`The claim failed: ${cause instanceof Error ? cause.message : String(cause)}`, new Date());
    await sleep(FAULT_PAUSE_MS);
  }

  /** Beside the next claim. Never rejects: its steps are retried until they succeed. */
  async function settle(token: string, queue: string): Promise<void> {
    const steps = stepsOf(memory.timings);
    let outcome: BatchOutcome;
    try {
      outcome = await steps.collectOutcomes(queue)(token);
    } catch {
      log.warn('The worker that claimed a batch is gone: another publishes its rows under the same ids', { token });
      outcome = await steps.publishAgain(token);
    }
    memory.settled(await steps.mark(token, outcome), new Date(), outcome);
    memory.failed(outcome, new Date());
    if (outcome.published > 0) memory.brokerBack();
    // What an older batch met is stale news: since then a claim has found the broker there, and the wake that would end
    // the wait may be behind us.
    else if (outcome.away !== null && token === newestToken) probesInARow = PROBES_AT_ONCE;
    memory.open.delete(token);
    show();
  }

  /** Waits on the shared schedule. A worker whose broker answers again sends `wake`, so the wait never delays the flow. */
  async function waitForBroker(): Promise<void> {
    memory.brokerAway(new Date());
    show();
    const { backoffFirstMs, backoffMaxMs } = memory.timings;
    // Another worker published last and has not said that it lost its broker: it is asked again soon, and not when the
    // schedule of the one that is cut off comes round.
    const wait = memory.worker ? backoffFirstMs : retryBackoff(memory.failedProbes, backoffFirstMs, backoffMaxMs);
    await condition(() => woken || memory.paused || shouldLeave(), wait, { summary: 'waits for the broker' });
    probesInARow = 0;
  }

  function reemitted(): void {
    // Not at the end of a long poll: more orders may wait for the roll-over.
    if (goesOn && shouldLeave()) endClaim();
    else yields = false;
  }

  function pause(): boolean {
    const changed = memory.pause(new Date());
    endClaim();
    return changed;
  }

  function wake(): void {
    woken = true;
    endClaim();
  }
}
