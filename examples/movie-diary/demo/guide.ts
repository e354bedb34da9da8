import type { Servers } from 'temporal-outbox/servers';
import type { Options } from './options';
import { deliveryRunsPage, relayPage } from './temporal';
import { QUICK_SETTINGS } from './workerProcess';

/** What a person at the terminal is told once the worker runs. */
export function whatRuns(
  backend: Options['backend'],
  logFile: string,
  posterUrl: string,
  uiUrl: string | undefined,
): string {
  const settings = Object.entries(QUICK_SETTINGS).map(([name, value]) => `${name}=${process.env[name] ?? value}`);
  return [
    `The worker is ready, backend ${backend}; its log is ${logFile}`,
    '  search-index    a full-text index in PostgreSQL, in one transaction with the ledger',
    `  poster-service  a service at ${posterUrl} that fails on purpose: 3 % of calls get 503, 1 % no answer`,
    'Its settings are quick, so that an event that fails dies within seconds and not after 20 minutes:',
    `  ${settings.join(' ')}`,
    ...(uiUrl ? [`Retries, in the Temporal UI: ${deliveryRunsPage(uiUrl)}`] : []),
    '',
  ].join('\n');
}

export function exactly(backend: Options['backend']): string {
  return backend === 'nats'
    ? 'Every event is in the stream exactly once, and was handled exactly once.'
    : 'Every event was handled exactly once.';
}

/** What a person may try while everything stays up. */
export function whatNext(servers: Servers, backend: Options['backend'], reemitted: readonly string[]): string {
  const lines = ['', 'Up until Ctrl-C. Meanwhile, in another terminal:'];
  // Those that were given are known, and may hold a password.
  const started = [
    servers.postgres.started && `DATABASE_URL=${servers.postgres.url}`,
    servers.nats.started && `NATS_URL=${servers.nats.url}`,
    servers.temporal.started && `TEMPORAL_ADDRESS=${servers.temporal.url}`,
    backend === 'db' && 'EVENT_BUS_BACKEND=db',
  ].filter((each) => each !== false);
  if (started.length > 0) lines.push(`  export ${started.join(' ')}`);
  lines.push('  npx outbox status --watch', ...reemitted.slice(0, 1).map((eventId) => `  npx outbox show ${eventId}`));
  lines.push('  npx outbox handlers', '  npx outbox pause', '  npx outbox --help');
  const { uiUrl } = servers.temporal;
  if (uiUrl) {
    lines.push(
      '',
      `Temporal UI: ${uiUrl}`,
      `The relay:   ${relayPage(uiUrl)}`,
      `Retries:     ${deliveryRunsPage(uiUrl)}`,
    );
  }
  return lines.join('\n');
}
