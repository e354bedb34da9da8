import { watchLauncher } from './launcher';

/** Rejects at the first signal, or when nobody waits any more. Further signals, which a terminal and npm send as well, change nothing. */
export function interruption(): Promise<never> {
  return new Promise((_, reject) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(name, () => reject(new Error(`${name}: stopping everything that was started`)));
    }
    watchLauncher((what) => reject(new Error(`${what}: stopping everything that was started`)));
  });
}
