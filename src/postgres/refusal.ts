import { maskUrl } from '../mask';
import { tlsFault } from '../tlsFault';

/** SQLSTATEs that no waiting mends: wrong credentials, no such role or database. */
const HOPELESS = new Set(['28P01', '28000', '3D000']);

/**
 * Why PostgreSQL will not take this connection however long one waits: a sentence with the way out, or undefined when it
 * may come by itself.
 *
 * @param setting the variable that holds `url`
 */
export function whyRefused(error: unknown, url: string, setting: string): string | undefined {
  const where = `PostgreSQL at ${maskUrl(url)}`;
  const { code, message = '', syscall, path } = error as NodeJS.ErrnoException;
  if (code !== undefined && HOPELESS.has(code)) return `${where} refused: ${message}. Check ${setting}.`;
  // These three have no code, as they are the client's own.
  if (/client password must be a/.test(message)) return `${where} demands a password, which ${setting} does not hold.`;
  if (/^SASL: .*(server signature|nonce|SERVER-FINAL)/.test(message))
    return `${where} could not prove that it knows the password: it is not the server that ${setting} means.`;
  if (/server does not support SSL/.test(message))
    return `${where} does not offer TLS: check the server, or sslmode in ${setting}.`;
  if (syscall === 'open') return `${setting} names a file that cannot be read (${code}): ${path}.`;
  const fault = tlsFault(error);
  return (
    fault &&
    `${where} cannot be trusted, or does not trust us: ${fault}. Check sslmode, sslrootcert, sslcert and sslkey in ${setting}.`
  );
}
