import type { Servers } from 'temporal-outbox/servers';
import { QUICK_SETTINGS, type Instance } from './instance';
import type { Options } from './options';
import type { JobDone } from './job';
import type { ProviderCalls } from './metadataProvider';
import { deliveryRunsPage, relayPage } from './pages';

/** What a person at the terminal is told once everything runs. */
export function whatRuns(
  { backend, directory }: Options,
  { first, second }: { first: Instance; second: Instance },
  metadataUrl: string,
  uiUrl: string | undefined,
): string {
  const settings = Object.entries(QUICK_SETTINGS).map(([name, value]) => `${name}=${process.env[name] ?? value}`);
  return [
    `Two movie diaries run, backend ${backend}; their logs are in ${directory}/logs`,
    `  first    ${first.origin}/docs`,
    `  second   ${second.origin}/docs`,
    `  metadata ${metadataUrl}, a provider that is slow and fails now and then on purpose`,
    'The settings are quick, so that an event that fails dies within a minute and not after 20:',
    `  ${settings.join(' ')}`,
    ...(uiUrl ? [`Retries, in the Temporal UI: ${deliveryRunsPage(uiUrl)}`] : []),
    '',
  ].join('\n');
}

/** What it took, in short: the comparison that follows says what came of it. */
export function whatHappened(
  { requests, repeated, seconds, firstHandledAfter }: JobDone,
  calls: Readonly<ProviderCalls>,
): string {
  const outcomes = Object.values(calls).map(({ answered, unknown, unavailable, reset }) => ({
    all: answered + unknown + unavailable + reset,
    failed: unavailable + reset,
  }));
  const sum = (of: 'all' | 'failed') => outcomes.reduce((total, outcome) => total + outcome[of], 0);
  return [
    ...(firstHandledAfter === undefined
      ? []
      : [`The first event was handled ${firstHandledAfter.toFixed(1)} s after the start.`]),
    `${requests} requests in ${seconds.toFixed(1)} s, ${repeated} of them sent more than once.`,
    `The metadata provider made ${sum('failed')} of ${sum('all')} calls fail; each was retried by the handler's delivery run.\n`,
  ].join('\n');
}

/** What a person may try while everything stays up. */
export function whatNext(
  servers: Servers,
  backend: Options['backend'],
  { origin }: Instance,
  example: { readonly eventId: string; readonly title: string },
): string {
  const lines = ['', 'Up until Ctrl-C. Meanwhile, in another terminal:'];
  // Those that were given are known, and may hold a password.
  const started = [
    servers.postgres.started && `DATABASE_URL=${servers.postgres.url}`,
    servers.nats.started && `NATS_URL=${servers.nats.url}`,
    servers.temporal.started && `TEMPORAL_ADDRESS=${servers.temporal.url}`,
    backend === 'db' && 'EVENT_BUS_BACKEND=db',
  ].filter((each) => each !== false);
  if (started.length > 0) lines.push(`  export ${started.join(' ')}`);
  lines.push(
    '  npx outbox reconcile',
    '  npx outbox status --watch',
    `  npx outbox show ${example.eventId}`,
    '  npx outbox handlers',
    `  curl '${origin}/search?q=${encodeURIComponent(example.title).replaceAll("'", '%27')}'`,
    `  curl ${origin}/users/ada/reviews`,
  );
  const { uiUrl } = servers.temporal;
  if (uiUrl)
    lines.push(
      '',
      `Temporal UI: ${uiUrl}`,
      `The relay:   ${relayPage(uiUrl)}`,
      `Retries:     ${deliveryRunsPage(uiUrl)}`,
    );
  return lines.join('\n');
}
