import { z } from 'zod';
import { DEFAULT_MAX_PAYLOAD_BYTES } from '../event';
import { DEFAULT_SCHEMA } from '../postgres/schemaName';
import { readOverrides } from '../retention/overrides';
import { DEFAULT_METRICS_ADDRESS, METRICS_ADDRESS_FORM, parseMetricsAddress } from '../telemetry/address';
import {
  count,
  file,
  kept,
  milliseconds,
  natsUrls,
  onOff,
  postgresUrl,
  taskQueue,
  token,
  uriReference,
} from './values';

/** Environment variables, each with its default. Durations are in milliseconds; every one is a setting so that tests can shorten it. */
export const environment = z.object({
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

  OUTBOX_TASK_QUEUE: taskQueue.optional(),
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
  /**
   * History events after which relay and consumer continue as new, if the server does not suggest it before; 0: only then,
   * which is at 4,096. Whoever takes a run over replays its history, some 0.3 s of CPU for 1,000 events. On a machine with
   * thirty processes for each core that is longer than the 10 s of a workflow task, each time anew: the run stands still.
   */
  OUTBOX_ROLL_OVER_EVENTS: count(250, 0),

  /** Events of one handler that are handled at the same time in a worker. */
  OUTBOX_CONCURRENCY: count(8, 1, 1_000),
  /** How long a ledger claim holds without a renewal. Two renewals may fail before another worker takes over. */
  OUTBOX_LEDGER_LEASE_MS: milliseconds(30_000, 1_000),
  /** At most a third of the lease, and when it is not given, then that, if it is less than this. */
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
