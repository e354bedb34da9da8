import type { Instance } from './instance';

/** The result of `work`; rejects when a process of an instance ends, or the user stops it first. */
export function unlessEnded<T>(instances: readonly Instance[], work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    // Nothing else may keep the process alive while it only stays up.
    const alive = setInterval(() => undefined, 60_000);
    const done = () => clearInterval(alive);
    work.then(resolve, reject).finally(done);
    for (const instance of instances)
      void instance.ended
        .then((how) => reject(new Error(`The ${how}. Nothing is lost: start again, and it goes on.`)))
        .finally(done);
    const aborted = () => {
      done();
      reject(new Error('stopped'));
    };
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true });
  });
}
