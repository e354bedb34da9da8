import type { z } from 'zod';
import { ConfigError } from '../errors';
import { DEFAULT_SCHEMA, schemaName } from '../postgres/schemaName';
import { environment } from './environment';

export type Environment = Readonly<Record<string, string | undefined>>;

export type Config = ReturnType<typeof loadConfig>;

/**
 * Reads the settings from environment variables. Temporal's own variables (`TEMPORAL_…`) are read by
 * `@temporalio/envconfig` where the connection is made.
 *
 * @throws ConfigError that lists every problem at once, each with its variable.
 */
export function loadConfig(env: Environment = process.env) {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const problems: string[] = [];
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    problems.push(...parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`));
  }
  // An empty schema name is a mistake in a template, not a wish for the default: it could point at foreign tables.
  const schema = env.OUTBOX_SCHEMA ?? DEFAULT_SCHEMA;
  try {
    schemaName(schema);
  } catch (error) {
    problems.push(`OUTBOX_SCHEMA: ${(error as Error).message}`);
  }
  const renewMs = parsed.success ? renewalOf(parsed.data, given, problems) : 0;
  problems.push(...natsProblems(given), ...misspelled(given));
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  const read = parsed.data;
  /** Names in Temporal and NATS, where installations of several schemas may share a server. */
  const named = (name: string, between: '/' | '-') => (schema === DEFAULT_SCHEMA ? name : `${name}${between}${schema}`);
  const taskQueue = read.OUTBOX_TASK_QUEUE ?? named('outbox', '/');

  return Object.freeze({
    databaseUrl: read.DATABASE_URL,
    listenUrl: read.OUTBOX_LISTEN_URL ?? read.DATABASE_URL,
    schema,
    poolSize: read.OUTBOX_POOL_SIZE,
    migrateAtStart: read.OUTBOX_MIGRATE === 'on',
    notify: read.OUTBOX_NOTIFY === 'on',
    maxPayloadBytes: read.OUTBOX_MAX_PAYLOAD_BYTES,
    maxAttempts: read.EVENT_QUEUE_MAX_ATTEMPTS,
    backend: read.EVENT_BUS_BACKEND,
    nats: Object.freeze({
      url: read.NATS_URL,
      mode: read.NATS_MODE,
      user: read.NATS_USER,
      password: read.NATS_PASSWORD,
      token: read.NATS_TOKEN,
      credentialsFile: read.NATS_CREDS,
      nkeyFile: read.NATS_NKEY,
      tlsCaFile: read.NATS_TLS_CA,
      tlsCertFile: read.NATS_TLS_CERT,
      tlsKeyFile: read.NATS_TLS_KEY,
      stream: read.OUTBOX_STREAM,
      subjectPrefix: read.OUTBOX_SUBJECT_PREFIX,
      durable: named('outbox', '-'),
      duplicateWindowMs: read.OUTBOX_DUPLICATE_WINDOW_MS,
      ackWaitMs: read.OUTBOX_ACK_WAIT_MS,
      cloudEventsSource: read.OUTBOX_CLOUDEVENTS_SOURCE ?? `/outbox/${schema}`,
      publishTimeoutMs: read.OUTBOX_PUBLISH_TIMEOUT_MS,
    }),
    taskQueue,
    /** Apart from the relay's queue: a mass of failing deliveries must not stand in the way of claims and marks. */
    deliveryTaskQueue: `${taskQueue}/deliveries`,
    consumerWorkflowId: named('outbox-consumer', '/'),
    /** Of the Temporal Schedule, and of the runs that it starts, to which Temporal adds the time. */
    maintenanceId: named('outbox-maintenance', '/'),
    relayWorkflowId: named('outbox-relay', '/'),
    relay: Object.freeze({
      batchSize: read.OUTBOX_BATCH_SIZE,
      batchBytes: read.OUTBOX_BATCH_BYTES,
      sliceMs: read.OUTBOX_SLICE_MS,
      longPollMs: read.OUTBOX_LONG_POLL_MS,
      pollMs: read.OUTBOX_POLL_MS,
      unprovenPollMs: read.OUTBOX_UNPROVEN_POLL_MS,
      leaseMs: read.OUTBOX_LEASE_MS,
      settleMs: read.OUTBOX_SETTLE_MS,
      probeMs: read.OUTBOX_PROBE_MS,
      backoffFirstMs: read.OUTBOX_BACKOFF_FIRST_MS,
      backoffMaxMs: read.OUTBOX_BACKOFF_MAX_MS,
      heartbeatTimeoutMs: read.OUTBOX_HEARTBEAT_TIMEOUT_MS,
      activityRetryMs: read.OUTBOX_ACTIVITY_RETRY_MS,
      ownQueueTimeoutMs: read.OUTBOX_OWN_QUEUE_TIMEOUT_MS,
      rollOverEvents: read.OUTBOX_ROLL_OVER_EVENTS,
    }),
    handling: Object.freeze({
      concurrency: read.OUTBOX_CONCURRENCY,
      leaseMs: read.OUTBOX_LEDGER_LEASE_MS,
      renewMs,
      maxLeaseMs: read.OUTBOX_LEDGER_MAX_LEASE_MS,
      retentionMs: read.OUTBOX_LEDGER_RETENTION_MS,
      sweepMs: read.OUTBOX_SWEEP_MS,
      sweepAfterMs: read.OUTBOX_SWEEP_AFTER_MS,
      compareMs: read.OUTBOX_COMPARE_MS,
      missingHandlerMs: read.OUTBOX_MISSING_HANDLER_MS,
      newerVersionMs: read.OUTBOX_NEWER_VERSION_MS,
      runStartsPerSecond: read.OUTBOX_RUN_STARTS_PER_SECOND,
    }),
    retention: Object.freeze({
      doneMs: read.OUTBOX_DONE_RETENTION_MS,
      byType: Object.freeze(read.OUTBOX_RETENTION_OVERRIDES),
      skippedMs: read.OUTBOX_SKIPPED_RETENTION_MS,
      deadMs: read.OUTBOX_DEAD_RETENTION_MS,
      everyMs: read.OUTBOX_MAINTENANCE_MS,
    }),
    worker: Object.freeze({
      buildId: read.OUTBOX_BUILD_ID,
      deploymentName: named('outbox', '-'),
      stickyTimeoutMs: read.OUTBOX_STICKY_TIMEOUT_MS,
      shutdownGraceMs: read.OUTBOX_SHUTDOWN_GRACE_MS,
    }),
    metricsAddress: read.OUTBOX_METRICS_ADDRESS,
    logLevel: read.OUTBOX_LOG_LEVEL,
  });
}

/** The variable that a fault of the listening connection is mended in. */
export function listenSetting({ listenUrl, databaseUrl }: Pick<Config, 'listenUrl' | 'databaseUrl'>) {
  return listenUrl === databaseUrl ? 'DATABASE_URL' : 'OUTBOX_LISTEN_URL';
}

/** With less room than for two renewals that fail, each handler that takes a while would be cut off by the worker itself. */
function renewalOf(
  { OUTBOX_LEDGER_LEASE_MS: leaseMs, OUTBOX_LEDGER_RENEW_MS: renewMs }: z.infer<typeof environment>,
  given: Record<string, unknown>,
  problems: string[],
): number {
  const most = Math.floor(leaseMs / 3);
  if (given.OUTBOX_LEDGER_RENEW_MS === undefined) return Math.min(renewMs, most);
  if (renewMs > most)
    problems.push(`OUTBOX_LEDGER_RENEW_MS: must be at most ${most}, a third of OUTBOX_LEDGER_LEASE_MS (${leaseMs})`);
  return renewMs;
}

/** Of two ways to say who connects one would be left out, and a certificate without its key proves nothing. */
function natsProblems(given: Record<string, unknown>): string[] {
  const problems: string[] = [];
  const ways = ['NATS_USER', 'NATS_TOKEN', 'NATS_CREDS', 'NATS_NKEY'].filter((name) => given[name] !== undefined);
  if (ways.length > 1) problems.push(`${ways.join(', ')}: say in one of them only who connects`);
  for (const [name, other] of [
    ['NATS_PASSWORD', 'NATS_USER'],
    ['NATS_TLS_CERT', 'NATS_TLS_KEY'],
    ['NATS_TLS_KEY', 'NATS_TLS_CERT'],
  ] as const) {
    if (given[name] !== undefined && given[other] === undefined) problems.push(`${name}: needs ${other} beside it`);
  }
  return problems;
}

/** Read by the development servers, which share the environment. */
const DEVELOPMENT = /^OUTBOX_(PYPI_URL|(POSTGRES|NATS|TEMPORAL|TEMPORAL_UI)_PORT|TEST\w*)$/;

/** A misspelled OUTBOX_ variable would otherwise silently leave the default in force. */
function misspelled(given: Record<string, unknown>): string[] {
  const known = Object.keys(environment.shape);
  return Object.keys(given)
    .filter((name) => name.startsWith('OUTBOX_') && !known.includes(name) && !DEVELOPMENT.test(name))
    .map((name) => `${name}: no such setting; the settings are listed by \`outbox config\``);
}
