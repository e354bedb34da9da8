import { condition, log, setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import * as messages from './consumerMessages';
import type { ConsumerMemory } from './consumerState';

/** What the consumer lets others do to it. */
interface Ways {
  readonly join: (request: unknown) => void;
  /** @returns false when it was paused already */
  readonly pause: () => boolean;
  /** @returns false when it was not paused */
  readonly resume: () => boolean;
  readonly wake: () => void;
  readonly show: () => void;
}

/**
 * Sets the handlers of all signals, updates and queries. What says nothing of use is ignored: an error would stop the
 * consumer for good.
 */
export function listen(memory: ConsumerMemory, { join, pause, resume, wake, show }: Ways): void {
  setHandler(messages.statusQuery, () => memory.status(), { description: 'State, workers, totals, last error' });
  setHandler(messages.joinSignal, join, { description: 'Sent by workers' });
  setHandler(messages.pauseSignal, () => void pause(), { description: 'Receive nothing until resume' });
  setHandler(messages.resumeSignal, () => void resume(), { description: 'Go on after a pause' });
  setHandler(messages.wakeSignal, wake, { description: 'End the waits for a broker early' });
  setDefaultSignalHandler((name) =>
    log.warn('A signal that the consumer does not know was ignored', { signal: name.slice(0, 100) }),
  );
  setHandler(messages.pauseUpdate, async () => {
    const changed = pause();
    await condition(() => memory.quiet || !memory.paused);
    show();
    return { changed };
  });
  setHandler(messages.resumeUpdate, () => ({ changed: resume() }));
}
