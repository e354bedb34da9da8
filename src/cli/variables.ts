import { loadConfig } from '../config';
import { settingsOf } from './settings';

/** What the variables say that verbs read, for their help. The others are listed by `outbox config`. */
const MEANINGS = {
  DATABASE_URL: 'PostgreSQL that holds the outbox',
  OUTBOX_LISTEN_URL: 'a direct connection, when DATABASE_URL goes through a pooler',
  OUTBOX_SCHEMA: 'schema of its tables',
  OUTBOX_MIGRATE: '`off`: a start only checks the version of the tables',
  OUTBOX_NOTIFY: '`off`: writing wakes nobody, and the relay finds it at its next poll',
  OUTBOX_MAX_PAYLOAD_BYTES: 'largest payload, in bytes',
  EVENT_BUS_BACKEND: '`nats` or `db`, the same for all workers of an installation',
  NATS_URL:
    'NATS server that events go to; NATS_USER and NATS_PASSWORD, or NATS_TOKEN; NATS_CREDS, NATS_NKEY and NATS_TLS_CA, NATS_TLS_CERT, NATS_TLS_KEY name files',
  NATS_MODE: '`jetstream` or `core`',
  OUTBOX_STREAM: 'stream that holds the events',
  OUTBOX_CLOUDEVENTS_SOURCE: '`ce-source` of every event, a URI reference',
  TEMPORAL_ADDRESS: "Temporal server; TEMPORAL_NAMESPACE, TEMPORAL_API_KEY and Temporal's other variables work too",
  TEMPORAL_UI_URL: "where Temporal's web page is, for links",
  OUTBOX_TASK_QUEUE: 'task queue of the workers',
  EVENT_QUEUE_MAX_ATTEMPTS: 'attempts of a handler for an event',
  OUTBOX_CONCURRENCY: 'events of one handler at a time in a worker',
  OUTBOX_METRICS_ADDRESS: 'where metrics and health are served, or `off`',
  OUTBOX_BUILD_ID: 'a name for what is deployed: turns worker versioning on',
  OUTBOX_SHUTDOWN_GRACE_MS: 'time for what is open at a stop, in milliseconds',
  OUTBOX_LEASE_MS: 'how long rows stay claimed by a process that is gone, in milliseconds',
  OUTBOX_LEDGER_RETENTION_MS: 'how long an effect is known to be there, in milliseconds',
  OUTBOX_DONE_RETENTION_MS: 'how long events that are done are kept, in milliseconds, or `never`',
  OUTBOX_RETENTION_OVERRIDES: 'other ages of single types, such as OrderPlaced=90d,ContractSigned=never',
  OUTBOX_SKIPPED_RETENTION_MS: 'the same for skipped deliveries',
  OUTBOX_DEAD_RETENTION_MS: 'the same for dead letters',
  OUTBOX_POSTGRES_PORT: 'port of its PostgreSQL',
  OUTBOX_NATS_PORT: 'port of its NATS',
  OUTBOX_TEMPORAL_PORT: 'port of its Temporal',
  OUTBOX_TEMPORAL_UI_PORT: "port of Temporal's web page",
  OUTBOX_LOG_LEVEL: 'debug, info, warn, error or silent; debug also shows the stack of an error',
  NO_COLOR: 'set: no colours; there are none either where the output is no terminal',
} as const;

export type Variable = keyof typeof MEANINGS;

/** What most verbs read. */
export const DATABASE: readonly Variable[] = ['DATABASE_URL', 'OUTBOX_SCHEMA'];
export const TEMPORAL: readonly Variable[] = ['TEMPORAL_ADDRESS'];
export const NATS: readonly Variable[] = ['NATS_URL', 'OUTBOX_STREAM'];
/** Read by every verb. */
const ALWAYS: readonly Variable[] = ['OUTBOX_LOG_LEVEL', 'NO_COLOR'];

/** For the help: each variable with what it says, and its default. */
export function meaningsOf(variables: readonly Variable[]): [variable: string, meaning: string][] {
  const defaults = new Map(settingsOf(loadConfig({}), {}).map(({ variable, value }) => [variable, value]));
  return [...variables, ...ALWAYS].map((variable) => {
    const byDefault = variable === 'TEMPORAL_ADDRESS' ? '127.0.0.1:7233' : defaults.get(variable);
    const meaning = MEANINGS[variable];
    return [variable, byDefault === undefined || byDefault === null ? meaning : `${meaning} (default: ${byDefault})`];
  });
}
