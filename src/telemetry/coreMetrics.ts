import { Runtime, type RuntimeOptions } from '@temporalio/worker';

/** Above what most systems give out themselves; none is asked for first, as it could be gone by the time it is used. */
const FIRST_PORT = 20_000;
const PORTS = 12_000;
const TRIES = 20;
const TIMEOUT_MS = 1_000;

let address: string | undefined;

/**
 * Installs Temporal's runtime, with its own metrics on a loopback port, from where `readCoreMetrics` takes them: the
 * runtime serves them over HTTP only. Names as Prometheus has them, which are also those of Temporal's own dashboards.
 */
export function installWithMetrics(options: RuntimeOptions): void {
  for (let tried = 1; ; tried++) {
    const bindAddress = `127.0.0.1:${FIRST_PORT + Math.floor(Math.random() * PORTS)}`;
    const prometheus = { bindAddress, countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true };
    try {
      Runtime.install({ ...options, telemetryOptions: { metrics: { prometheus, attachServiceName: false } } });
      address = bindAddress;
      return;
    } catch (error) {
      if (!/address already in use/i.test((error as Error).message) || tried === TRIES) throw error;
    }
  }
}

/** @returns nothing when the runtime was installed without metrics, or does not answer */
export async function readCoreMetrics(): Promise<string> {
  if (address === undefined) return '';
  try {
    const response = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = response.ok ? await response.text() : '';
    return text === '' || text.endsWith('\n') ? text : `${text}\n`;
  } catch {
    return '';
  }
}
