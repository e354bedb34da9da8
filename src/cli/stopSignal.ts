/**
 * Aborts at the first SIGTERM or SIGINT. Further ones change nothing: npm and a terminal both pass a Ctrl-C on, and
 * what ends in order must not be cut off by the second copy.
 */
export function stopSignal(told: (name: NodeJS.Signals) => void = () => undefined): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) return;
      told(name);
      stop.abort();
    });
  }
  return stop.signal;
}
