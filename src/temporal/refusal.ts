import type { TemporalSettings } from './settings';
import { whyNoHandshake } from './handshake';

/** gRPC status codes that no waiting mends. */
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;
/** The worker's own connection gives no code for what its first call met, only the fixed descriptions of 16 and 7. */
const REFUSED = /does not have valid authentication credentials|does not have permission to execute/;

/**
 * Why Temporal will not take this connection however long one waits: a sentence with the way out, or undefined when it
 * may come by itself.
 */
export async function whyRefused(error: unknown, settings: TemporalSettings): Promise<string | undefined> {
  const { address, namespace, connectionOptions } = settings;
  const { code: own, message = '', cause } = (error ?? {}) as { code?: unknown; message?: string; cause?: unknown };
  const code = typeof own === 'number' ? own : (cause as { code?: unknown } | undefined)?.code;
  if (code === NOT_FOUND)
    return `Temporal at ${address} has no namespace ${namespace}: create it, or set TEMPORAL_NAMESPACE`;
  if (code === PERMISSION_DENIED || code === UNAUTHENTICATED || REFUSED.test(message))
    return `Temporal at ${address} refused the credentials: check TEMPORAL_API_KEY and the TEMPORAL_TLS_… variables`;
  const why = await whyNoHandshake(address, connectionOptions.tls).catch(() => undefined);
  return why && `Temporal at ${address} ${why}`;
}
