import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  log,
  setCurrentDetails,
  setDefaultSignalHandler,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { retryBackoff } from '../backoff';
import type { BatchOutcome, ClaimResult } from '../relay/outcome';
import { details } from './details';
import * as messages from './messages';
import { readReemit, readReemitAll } from './orders';
import { RelayMemory, type RelayInput } from './state';
import { stepsOf } from './steps';

/** Batches that are being settled while the next is collected. More would hold more rows without being faster. */
const MAX_OPEN_BATCHES = 2;
/** Tries in a row before the relay believes that no worker has a broker: each worker gets its chance to answer. */
const PROBES_AT_ONCE = 4;
/** A run whose limit is nearer than its first pass would continue as new for ever and move nothing. */
const MIN_ROLL_OVER_EVENTS = 50;
/** Event ids of one re-emit step: small enough for a payload, large enough for an operator's list. */
const REEMIT_CHUNK = 1_000;
const FAULT_PAUSE_MS = 5_000;
/** What a continue-as-new may carry on, half a megabyte: one above the server's 2 MB is refused, and again at each retry. */
const MAX_CARRIED_IDS = 10_000;

/** Moves events from the outbox to the broker for ever: `claim`, then `publish` and `mark` beside the next claim. */
export async function relay(input: RelayInput): Promise<void> {
  const memory = new RelayMemory(input);
  let openClaim: CancellationScope | undefined;
  let woken = false;
  let probesInARow = 0;
  let newestToken: string | undefined;

  const endClaim = () => openClaim?.cancel();
  const show = () => setCurrentDetails(details(memory.status()));
  receive();
  show();
  const reemitting = carryOutOrders();

  while (!shouldRollOver()) {
    if (memory.paused) await condition(() => !memory.paused || shouldRollOver());
    else if (probesInARow >= PROBES_AT_ONCE) await waitForBroker();
    else if (memory.open.size >= MAX_OPEN_BATCHES)
      await condition(() => memory.open.size < MAX_OPEN_BATCHES || memory.paused);
    else await pass();
    show();
  }

  memory.rollingOver = true;
  show();
  await reemitting;
  // More may have arrived by signal meanwhile.
  while (!memory.quiet || !allHandlersFinished() || memory.orderedIds > MAX_CARRIED_IDS) {
    await condition(() => memory.quiet && allHandlersFinished());
    while (memory.orderedIds > MAX_CARRIED_IDS) await carryOutOrder();
  }
  await continueAsNew<typeof relay>(memory.carry());

  async function pass(): Promise<void> {
    woken = false;
    memory.claiming = true;
    let result: ClaimResult;
    try {
      result = await CancellationScope.cancellable(() => {
        openClaim = CancellationScope.current();
        return stepsOf(memory.timings).claim({ openTokens: [...memory.open.keys()] });
      });
    } catch (error) {
      // Cancelled before a worker took it: nothing was claimed.
      if (isCancellation(error)) return;
      // Retried for ever by its options, so this is a fault of the set-up; without a pause it would spin.
      memory.error(`The claim failed: ${String(error)}`, new Date());
      await sleep(FAULT_PAUSE_MS);
      return;
    } finally {
      memory.claiming = false;
      openClaim = undefined;
    }
    memory.timings = result.timings;
    if (result.kind === 'away') {
      probesInARow++;
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
      memory.settled(result.settled, 0);
    } else {
      memory.failedProbes = 0;
      memory.lagMs = 0;
    }
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
    memory.settled(await steps.mark(token, outcome), outcome.duplicates);
    memory.failed(outcome, new Date());
    if (outcome.published > 0) memory.failedProbes = 0;
    // What an older batch met is stale news: since then a claim has found the broker there, and the wake that would end
    // the wait may be behind us.
    else if (outcome.away !== null && token === newestToken) probesInARow = PROBES_AT_ONCE;
    memory.open.delete(token);
    show();
  }

  /** Waits on the shared schedule. A worker whose broker answers again sends `wake`, so the wait never delays the flow. */
  async function waitForBroker(): Promise<void> {
    memory.failedProbes++;
    show();
    const { backoffFirstMs, backoffMaxMs } = memory.timings;
    const wait = retryBackoff(memory.failedProbes, backoffFirstMs, backoffMaxMs);
    await condition(() => woken || memory.paused || shouldRollOver(), wait, { summary: 'waits for the broker' });
    // The last of its chances: one more failure and it waits again, longer.
    probesInARow = PROBES_AT_ONCE - 1;
  }

  /** One order at a time, so that a flood of signals becomes a queue and not a flood of activities. */
  async function carryOutOrders(): Promise<void> {
    for (;;) {
      await condition(() => memory.orders.length > 0 || memory.rollingOver);
      if (memory.rollingOver && memory.orderedIds <= MAX_CARRIED_IDS) return;
      await carryOutOrder();
    }
  }

  async function carryOutOrder(): Promise<void> {
    const order = memory.orders[0];
    if (!order) return;
    const steps = stepsOf(memory.timings);
    if ('all' in order) {
      memory.orders.shift();
      const { revived } = await steps.reemitAll(order.all);
      log.info('Re-emitted dead letters', { revived });
    } else {
      const ids = takeIds();
      const { revived, refused } = await steps.reemit({ ids });
      log.info('Re-emitted dead letters', {
        revived: revived.length,
        refused: refused.length,
        reason: refused[0]?.reason,
      });
    }
  }

  /** Ids of the orders at the front, as many as one step takes: 300 single signals are a few steps. */
  function takeIds(): string[] {
    const ids: string[] = [];
    for (let order = memory.orders[0]; order && 'ids' in order && ids.length < REEMIT_CHUNK; order = memory.orders[0]) {
      const taken = order.ids.slice(0, REEMIT_CHUNK - ids.length);
      ids.push(...taken);
      if (taken.length < order.ids.length) memory.orders[0] = { ids: order.ids.slice(taken.length) };
      else memory.orders.shift();
    }
    return ids;
  }

  function shouldRollOver(): boolean {
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    const limit = memory.timings.rollOverEvents;
    return continueAsNewSuggested || (limit > 0 && historyLength >= Math.max(limit, MIN_ROLL_OVER_EVENTS));
  }

  function pause(): boolean {
    const changed = !memory.paused;
    memory.paused = true;
    endClaim();
    return changed;
  }

  function resume(): boolean {
    const changed = memory.paused;
    memory.paused = false;
    return changed;
  }

  function receive(): void {
    setHandler(messages.statusQuery, () => memory.status(), {
      description: 'State, lag, in flight, totals, last error',
    });
    setHandler(messages.pauseSignal, () => void pause(), { description: 'Publish nothing until resume' });
    setHandler(messages.resumeSignal, () => void resume(), { description: 'Go on after a pause' });
    setHandler(messages.wakeSignal, wake, { description: 'End a long poll or a wait for the broker early' });
    setHandler(
      messages.reemitSignal,
      (request: unknown) => {
        const order = readReemit(request);
        if (order) memory.orders.push(order);
      },
      { description: 'Revive dead letters: {"ids": ["<event id>", …]}' },
    );
    setHandler(
      messages.reemitAllSignal,
      (filter: unknown) => {
        const read = readReemitAll(filter);
        if ('filter' in read) memory.orders.push({ all: read.filter });
        else log.warn(`A reemitAll signal was ignored: ${read.problem}`);
      },
      { description: 'Revive all dead letters, or those of a filter' },
    );
    setDefaultSignalHandler((name) =>
      log.warn('A signal that the relay does not know was ignored', { signal: name.slice(0, 100) }),
    );

    setHandler(messages.pauseUpdate, async () => {
      const changed = pause();
      await condition(() => memory.quiet || !memory.paused);
      return { changed };
    });
    setHandler(messages.resumeUpdate, () => ({ changed: resume() }));
    setHandler(messages.reemitUpdate, ({ ids }) => stepsOf(memory.timings).reemit({ ids }), {
      validator: (request: unknown) => {
        const ids: unknown =
          typeof request === 'object' && request !== null ? (request as { ids?: unknown }).ids : undefined;
        if (!Array.isArray(ids) || ids.some((id) => typeof id !== 'string')) reject('send {"ids": ["<event id>", …]}');
      },
    });
    setHandler(
      messages.reemitAllUpdate,
      (filter?: messages.DeadLetterFilter) => stepsOf(memory.timings).reemitAll(filter ?? {}),
      {
        validator: (filter?: messages.DeadLetterFilter) => {
          const read = readReemitAll(filter);
          if ('problem' in read) reject(read.problem);
        },
      },
    );
  }

  function wake(): void {
    woken = true;
    endClaim();
  }
}

function reject(problem: string): never {
  throw ApplicationFailure.nonRetryable(problem, 'InvalidRequest');
}
