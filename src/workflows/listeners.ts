import { ApplicationFailure, condition, log, setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import * as messages from './messages';
import { readReemit, readReemitAll, readReemitUpdate, reemitProblem } from './orders';
import type { RelayMemory } from './state';
import { stepsOf } from './steps';

/** What the loop lets others do to it. */
interface Ways {
  /** @returns false when it was paused already */
  readonly pause: () => boolean;
  readonly wake: () => void;
}

/**
 * Sets the handlers of all signals, updates and queries. A signal that says nothing of use is told in the log and
 * ignored: an error would stop the relay for good.
 */
export function listen(memory: RelayMemory, { pause, wake }: Ways): void {
  setHandler(messages.statusQuery, () => memory.status(), {
    description: 'State, lag, in flight, totals, last error',
  });
  setHandler(messages.pauseSignal, () => void pause(), { description: 'Publish nothing until resume' });
  setHandler(messages.resumeSignal, () => void memory.resume(), { description: 'Go on after a pause' });
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
  setHandler(messages.resumeUpdate, () => ({ changed: memory.resume() }));
  setHandler(messages.reemitUpdate, (request) => stepsOf(memory.timings).reemit(readReemitUpdate(request), 'update'), {
    validator: (request: unknown) => {
      const problem = reemitProblem(request);
      if (problem) reject(problem);
    },
  });
  setHandler(
    messages.reemitAllUpdate,
    (filter?: messages.DeadLetterFilter) => stepsOf(memory.timings).reemitAll(filter ?? {}, 'update'),
    {
      validator: (filter?: messages.DeadLetterFilter) => {
        const read = readReemitAll(filter);
        if ('problem' in read) reject(read.problem);
      },
    },
  );
}

function reject(problem: string): never {
  throw ApplicationFailure.nonRetryable(problem, 'InvalidRequest');
}
