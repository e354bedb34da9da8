import { errors } from 'nats';
import type { Config } from '../config';
import { tlsFault } from '../tlsFault';
import { loginSettings } from './credentials';

/**
 * What no waiting mends about a connection, as the end of a sentence that begins with the server and names the settings
 * to look at; undefined when it may come by itself.
 */
export function whyRefused(error: unknown, nats: Config['nats']): string | undefined {
  const chain = [error, (error as { cause?: unknown } | null)?.cause];
  if (chain.some((at) => at instanceof errors.UserAuthenticationExpiredError))
    return `says that the credentials have expired: renew them, and check ${loginSettings(nats)}`;
  if (chain.some((at) => at instanceof errors.AuthorizationError))
    return `refused the credentials: check ${loginSettings(nats)}`;
  // The client has no code for it, and asks before it sends anything.
  if (chain.some((at) => at instanceof errors.ConnectionError && /does not support 'tls'/.test(at.message)))
    return 'does not offer TLS: check NATS_URL, or leave the NATS_TLS_… settings out';
  const fault = tlsFault(error);
  return (
    fault && `cannot be trusted, or does not trust us: ${fault}. Check NATS_TLS_CA, NATS_TLS_CERT and NATS_TLS_KEY`
  );
}
