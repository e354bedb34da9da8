import { existsSync } from 'node:fs';
import { z } from 'zod';
import { encodeAttribute } from './broker/cloudEvent';
import { ConfigError } from './errors';
import { DEFAULT_MAX_PAYLOAD_BYTES, NAME } from './event';
import { schemaName, DEFAULT_SCHEMA } from './postgres/schemaName';
import { readOverrides } from './retention/overrides';
import { DEFAULT_METRICS_ADDRESS, METRICS_ADDRESS_FORM, parseMetricsAddress } from './telemetry/address';

/** Environment variables, each with its default. Durations are in milliseconds; every one is a setting so that tests can shorten it. */
const whole = (byDefault: number, min: number, max: number, unit: string) => {
  const wanted = `must be a whole number${unit} from ${min} to ${max}`;
  return z.coerce.number(wanted).int(wanted).min(min, wanted).max(max, wanted).default(byDefault);
};
const milliseconds = (byDefault: number, min = 1, max = 2_147_483_647) =>
  whole(byDefault, min, max, ' of milliseconds');
const count = (byDefault: number, min = 1, max = 1_000_000_000) => whole(byDefault, min, max, '');
/** How long something is kept; a hundred years at most. Null: for ever. */
const kept = (byDefault: string) =>
  z
    .string()
    .default(byDefault)
    .transform((text, context) => {
      if (text === 'never') return null;
      const ms = Number(text);
      if (Number.isInteger(ms) && ms >= 1_000 && ms <= 3_153_600_000_000) return ms;
      context.addIssue({
        code: 'custom',
        message: 'must be `never`, or a whole number of milliseconds from 1000 to 3153600000000',
      });
      return z.NEVER;
    });
const onOff = z.enum(['on', 'off']).default('on');
/** Its parts are decoded where a connection is made, whose failure would name neither the variable nor the cause. */
const isUrl = (text: string) => {
  if (!URL.canParse(text)) return false;
  const { username, password, hostname, pathname } = new URL(text);
  try {
    [username, password, hostname, pathname].forEach(decodeURIComponent);
    return true;
  } catch {
    return false;
  }
};
const ENCODED = 'with % in user and password written as %25';
const postgresUrl = z.string().refine((text) => /^postgres(ql)?:\/\//.test(text) && isUrl(text), {
  error: `must be a URL such as postgres://user@host:5432/database, ${ENCODED}`,
});
const natsUrls = z
  .string()
  .refine(
    (text) => text.split(',').every((part) => isUrl(part.includes('://') ? part.trim() : `nats://${part.trim()}`)),
    { error: `must be a URL such as nats://host:4222, or several with commas between them, ${ENCODED}` },
  );
const file = z.string().refine((path) => existsSync(path), { error: 'names a file that does not exist' });
/** As RFC 3986 has it, and short enough for the room that is kept for headers. */
const uriReference = z
  .string()
  .refine((text) => encodeAttribute(text).length <= 256, 'must have at most 256 characters, of which % counts as 3')
  .regex(
    /^([a-z][a-z0-9+.-]*:|(?![^/?#]*:))([\w.~!$&'()*+,;=:@/?[\]-]|%[0-9a-f]{2})+(#([\w.~!$&'()*+,;=:@/?-]|%[0-9a-f]{2})*)?$/i,
    'must be a URI reference such as https://orders.example.com/outbox, urn:example:orders or /orders',
  );
const token = (what: string) => z.string().regex(NAME, `${what} may hold letters, digits, _ and - only`);

const environment = z.object({
  /** Where the outbox lives. May point at a pooler. */
  DATABASE_URL: postgresUrl.default('postgres://postgres@127.0.0.1:5432/postgres'),
  /** A direct connection for LISTEN, when DATABASE_URL goes through a pooler. */
  OUTBOX_LISTEN_URL: postgresUrl.optional(),
  OUTBOX_SCHEMA: z.string().default(DEFAULT_SCHEMA),
  /** One is enough; more let claims, marks and commands overlap. */
  OUTBOX_POOL_SIZE: count(6),
  /** `off`: migrations are a step of the deployment, and a start only checks the version. */
  OUTBOX_MIGRATE: onOff,
  OUTBOX_NOTIFY: onOff,
  OUTBOX_MAX_PAYLOAD_BYTES: count(DEFAULT_MAX_PAYLOAD_BYTES),

  EVENT_BUS_BACKEND: z.enum(['nats', 'db']).default('nats'),
  NATS_URL: natsUrls.default('nats://127.0.0.1:4222'),
  NATS_MODE: z.enum(['jetstream', 'core']).default('jetstream'),
  /** User and password, or token, beside the URL: there, they would have to be encoded, and are easily logged. */
  NATS_USER: z.string().optional(),
  NATS_PASSWORD: z.string().optional(),
  NATS_TOKEN: z.string().optional(),
  /** A file with JWT and seed, as `nsc` writes it. */
  NATS_CREDS: file.optional(),
  /** A file with the seed of an nkey. */
  NATS_NKEY: file.optional(),
  NATS_TLS_CA: file.optional(),
  NATS_TLS_CERT: file.optional(),
  NATS_TLS_KEY: file.optional(),
  OUTBOX_STREAM: token('a stream name').default('EVENTS'),
  OUTBOX_SUBJECT_PREFIX: token('a subject prefix').default('events'),
  OUTBOX_DUPLICATE_WINDOW_MS: milliseconds(3_600_000, 100),
  OUTBOX_ACK_WAIT_MS: milliseconds(10_000, 100),
  /** `ce-source` of every event, a URI reference. Default: `/outbox/<schema>`. */
  OUTBOX_CLOUDEVENTS_SOURCE: uriReference.optional(),
  EVENT_QUEUE_MAX_ATTEMPTS: count(10),

  OUTBOX_TASK_QUEUE: z.string().min(1).max(200).optional(),
  /** In an outage the ids of a whole batch pass through Temporal, 20 bytes each, whose limit for a payload is 2 MB. */
  OUTBOX_BATCH_SIZE: count(4_000, 1, 50_000),
  OUTBOX_BATCH_BYTES: count(4 * 1024 * 1024, 1, 64 * 1024 * 1024),
  OUTBOX_SLICE_MS: milliseconds(2_000),
  OUTBOX_LONG_POLL_MS: milliseconds(60_000),
  OUTBOX_POLL_MS: milliseconds(5_000),
  OUTBOX_UNPROVEN_POLL_MS: milliseconds(1_000),
  OUTBOX_LEASE_MS: milliseconds(600_000),
  OUTBOX_PUBLISH_TIMEOUT_MS: milliseconds(5_000),
  OUTBOX_SETTLE_MS: milliseconds(1_000),
  OUTBOX_PROBE_MS: milliseconds(5_000),
  OUTBOX_BACKOFF_FIRST_MS: milliseconds(5_000),
  OUTBOX_BACKOFF_MAX_MS: milliseconds(300_000),
  /** The worker heartbeats each 500 ms; a time-out near that would take a busy worker for a lost one. */
  OUTBOX_HEARTBEAT_TIMEOUT_MS: milliseconds(5_000, 2_000),
  OUTBOX_ACTIVITY_RETRY_MS: milliseconds(200),
  OUTBOX_OWN_QUEUE_TIMEOUT_MS: milliseconds(3_000),
  OUTBOX_STICKY_TIMEOUT_MS: milliseconds(2_000),
  /** Turns Temporal's worker versioning on. Off by default: then a new build needs no step of an operator to be used. */
  OUTBOX_BUILD_ID: z
    .string()
    .regex(
      /^(?!__)[\w.+-]{1,128}$/,
      'a build id may hold up to 128 letters, digits, and . _ + - only, and Temporal keeps those that begin with __ for itself',
    )
    .optional(),
  OUTBOX_SHUTDOWN_GRACE_MS: milliseconds(20_000),
  /** History events after which the relay continues as new; 0 leaves it to the server's suggestion. */
  OUTBOX_ROLL_OVER_EVENTS: count(0, 0),

  /** Events of one handler that are handled at the same time in a worker. */
  OUTBOX_CONCURRENCY: count(8, 1, 1_000),
  /** How long a ledger claim holds without a renewal. Three renewals may fail before another worker takes over. */
  OUTBOX_LEDGER_LEASE_MS: milliseconds(30_000, 1_000),
  OUTBOX_LEDGER_RENEW_MS: milliseconds(10_000, 100),
  /** For a claim that somebody left without any time of its end. */
  OUTBOX_LEDGER_MAX_LEASE_MS: milliseconds(1_800_000),
  /** Longer than any stream keeps a message and any operator's pause: what is forgotten could be handled again (C18). */
  OUTBOX_LEDGER_RETENTION_MS: milliseconds(2_592_000_000, 1_000, 31_536_000_000),
  /** Rows that are done. The ledger is what knows a redelivery; these are kept for people, `show` and `reconcile`. */
  OUTBOX_DONE_RETENTION_MS: kept('604800000'),
  /** Other ages of done rows by event type: `OrderPlaced=90d,Clicked=12h,ContractSigned=never`. */
  OUTBOX_RETENTION_OVERRIDES: z
    .string()
    .default('')
    .transform((text, context) => {
      const { overrides, problems } = readOverrides(text);
      for (const message of problems) context.addIssue({ code: 'custom', message });
      return overrides;
    }),
  /** What somebody gave up on purpose, and what still waits for somebody: nothing may go unasked. */
  OUTBOX_SKIPPED_RETENTION_MS: kept('never'),
  OUTBOX_DEAD_RETENTION_MS: kept('never'),
  /** An hour's worth is removed in seconds, and 24 runs a day cost next to nothing in Temporal. */
  OUTBOX_MAINTENANCE_MS: milliseconds(3_600_000, 1_000),
  OUTBOX_SWEEP_MS: milliseconds(15_000, 100),
  /** How long a waiting delivery may be overdue and untouched before the sweep takes its run for gone. */
  OUTBOX_SWEEP_AFTER_MS: milliseconds(120_000, 100),
  /** Between two comparisons of unacknowledged messages with ledger and deliveries: longer than the longest redelivery. */
  OUTBOX_COMPARE_MS: milliseconds(320_000, 100),
  /** No worker here knows the handler: a rolling deployment takes minutes. */
  OUTBOX_MISSING_HANDLER_MS: milliseconds(60_000, 100),
  /** No worker here knows the event's version yet. */
  OUTBOX_NEWER_VERSION_MS: milliseconds(300_000, 100),
  OUTBOX_RUN_STARTS_PER_SECOND: count(100, 1, 10_000),
  /** `/metrics`, `/healthz` and `/readyz`; of several ports the first that is free. `off`: nothing is served or counted. */
  OUTBOX_METRICS_ADDRESS: z
    .string()
    .refine((text) => text === 'off' || parseMetricsAddress(text) !== undefined, METRICS_ADDRESS_FORM)
    .default(DEFAULT_METRICS_ADDRESS),
  OUTBOX_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

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
  problems.push(...natsProblems(given), ...misspelled(given));
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  const read = parsed.data;

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
      durable: schema === DEFAULT_SCHEMA ? 'outbox' : `outbox-${schema}`,
      duplicateWindowMs: read.OUTBOX_DUPLICATE_WINDOW_MS,
      ackWaitMs: read.OUTBOX_ACK_WAIT_MS,
      cloudEventsSource: read.OUTBOX_CLOUDEVENTS_SOURCE ?? `/outbox/${schema}`,
      publishTimeoutMs: read.OUTBOX_PUBLISH_TIMEOUT_MS,
    }),
    taskQueue: read.OUTBOX_TASK_QUEUE ?? (schema === DEFAULT_SCHEMA ? 'outbox' : `outbox/${schema}`),
    /** Apart from the relay's queue: a mass of failing deliveries must not stand in the way of claims and marks. */
    deliveryTaskQueue: `${read.OUTBOX_TASK_QUEUE ?? (schema === DEFAULT_SCHEMA ? 'outbox' : `outbox/${schema}`)}/deliveries`,
    consumerWorkflowId: schema === DEFAULT_SCHEMA ? 'outbox-consumer' : `outbox-consumer/${schema}`,
    /** Of the Temporal Schedule, and of the runs that it starts, to which Temporal adds the time. */
    maintenanceId: schema === DEFAULT_SCHEMA ? 'outbox-maintenance' : `outbox-maintenance/${schema}`,
    relayWorkflowId: schema === DEFAULT_SCHEMA ? 'outbox-relay' : `outbox-relay/${schema}`,
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
      renewMs: read.OUTBOX_LEDGER_RENEW_MS,
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
      deploymentName: schema === DEFAULT_SCHEMA ? 'outbox' : `outbox-${schema}`,
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
