/** Stands for a secret. */
export const MASK = '***';

/**
 * A URL, or a list of them, without its secrets, for logs, errors and `outbox config`. What could be read in two ways
 * is masked whole: a password may hold a comma, a slash or an @ that nobody encoded, and half of it would then pass
 * for a host.
 */
export function maskUrl(urls: string): string {
  return urls
    .split(/,(?=\s*[a-z+]+:\/\/)/i)
    .map((url) => maskOne(url.trim()))
    .join(',');
}

function maskOne(url: string): string {
  if (/[,/?#@].*@/s.test(url.replace(/^[a-z+]+:\/\//i, ''))) return MASK;
  // A list without schemes: user-info, if any, belongs to each of its parts.
  if (url.includes(',')) return url.split(',').map(maskOne).join(',');
  try {
    const parsed = new URL(url.includes('://') ? url : `nats://${url}`);
    if (parsed.password) parsed.password = MASK;
    // A user name without a password is a token in a NATS URL, and a plain name in a PostgreSQL one.
    else if (parsed.username && !parsed.protocol.startsWith('postgres')) parsed.username = MASK;
    for (const name of [...parsed.searchParams.keys()]) {
      if (/pass|secret|token|key/i.test(name)) parsed.searchParams.set(name, MASK);
    }
    return url.includes('://') ? parsed.toString() : parsed.toString().replace(/^nats:\/\//, '');
  } catch {
    return MASK;
  }
}
