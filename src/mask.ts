/** A URL without its secrets, for logs, errors and `outbox config`. What cannot be read as a URL is masked whole. */
export function maskUrl(url: string): string {
  return url
    .split(',')
    .map((part) => maskOne(part.trim()))
    .join(',');
}

function maskOne(url: string): string {
  try {
    const parsed = new URL(url.includes('://') ? url : `nats://${url}`);
    if (parsed.password) parsed.password = '***';
    // A user name without a password is a token in a NATS URL, and a plain name in a PostgreSQL one.
    else if (parsed.username && !parsed.protocol.startsWith('postgres')) parsed.username = '***';
    for (const name of [...parsed.searchParams.keys()]) {
      if (/pass|secret|token|key/i.test(name)) parsed.searchParams.set(name, '***');
    }
    return url.includes('://') ? parsed.toString() : parsed.toString().replace(/^nats:\/\//, '');
  } catch {
    return '***';
  }
}
