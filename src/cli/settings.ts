import type { ClientConfigProfile } from '@temporalio/envconfig';
import type { Config, Environment } from '../config';
import { MASK, maskUrl } from '../mask';
import { overridesText } from '../retention/overrides';
import { maskedTemporal } from './secrets';

export interface Setting {
  readonly variable: string;
  /** In force; secrets masked. Null when it is not set and has no default. */
  readonly value: string | number | null;
  readonly source: 'given' | 'default' | 'file';
}

const onOff = (on: boolean) => (on ? 'on' : 'off');

/** Every variable that `loadConfig` reads; a test compares the two. */
const SETTINGS: Record<string, (config: Config) => string | number | undefined> = {
  DATABASE_URL: (config) => maskUrl(config.databaseUrl),
  OUTBOX_LISTEN_URL: (config) => maskUrl(config.listenUrl),
  OUTBOX_SCHEMA: (config) => config.schema,
  OUTBOX_POOL_SIZE: (config) => config.poolSize,
  OUTBOX_MIGRATE: (config) => onOff(config.migrateAtStart),
  OUTBOX_NOTIFY: (config) => onOff(config.notify),
  OUTBOX_MAX_PAYLOAD_BYTES: (config) => config.maxPayloadBytes,
  EVENT_BUS_BACKEND: (config) => config.backend,
  NATS_URL: (config) => maskUrl(config.nats.url),
  NATS_MODE: (config) => config.nats.mode,
  NATS_USER: (config) => config.nats.user,
  NATS_PASSWORD: (config) => config.nats.password && MASK,
  NATS_TOKEN: (config) => config.nats.token && MASK,
  NATS_CREDS: (config) => config.nats.credentialsFile,
  NATS_NKEY: (config) => config.nats.nkeyFile,
  NATS_TLS_CA: (config) => config.nats.tlsCaFile,
  NATS_TLS_CERT: (config) => config.nats.tlsCertFile,
  NATS_TLS_KEY: (config) => config.nats.tlsKeyFile,
  OUTBOX_STREAM: (config) => config.nats.stream,
  OUTBOX_SUBJECT_PREFIX: (config) => config.nats.subjectPrefix,
  OUTBOX_DUPLICATE_WINDOW_MS: (config) => config.nats.duplicateWindowMs,
  OUTBOX_ACK_WAIT_MS: (config) => config.nats.ackWaitMs,
  OUTBOX_CLOUDEVENTS_SOURCE: (config) => config.nats.cloudEventsSource,
  EVENT_QUEUE_MAX_ATTEMPTS: (config) => config.maxAttempts,
  OUTBOX_TASK_QUEUE: (config) => config.taskQueue,
  OUTBOX_BATCH_SIZE: (config) => config.relay.batchSize,
  OUTBOX_BATCH_BYTES: (config) => config.relay.batchBytes,
  OUTBOX_SLICE_MS: (config) => config.relay.sliceMs,
  OUTBOX_LONG_POLL_MS: (config) => config.relay.longPollMs,
  OUTBOX_POLL_MS: (config) => config.relay.pollMs,
  OUTBOX_UNPROVEN_POLL_MS: (config) => config.relay.unprovenPollMs,
  OUTBOX_LEASE_MS: (config) => config.relay.leaseMs,
  OUTBOX_PUBLISH_TIMEOUT_MS: (config) => config.nats.publishTimeoutMs,
  OUTBOX_SETTLE_MS: (config) => config.relay.settleMs,
  OUTBOX_PROBE_MS: (config) => config.relay.probeMs,
  OUTBOX_BACKOFF_FIRST_MS: (config) => config.relay.backoffFirstMs,
  OUTBOX_BACKOFF_MAX_MS: (config) => config.relay.backoffMaxMs,
  OUTBOX_HEARTBEAT_TIMEOUT_MS: (config) => config.relay.heartbeatTimeoutMs,
  OUTBOX_ACTIVITY_RETRY_MS: (config) => config.relay.activityRetryMs,
  OUTBOX_OWN_QUEUE_TIMEOUT_MS: (config) => config.relay.ownQueueTimeoutMs,
  OUTBOX_STICKY_TIMEOUT_MS: (config) => config.worker.stickyTimeoutMs,
  OUTBOX_BUILD_ID: (config) => config.worker.buildId,
  OUTBOX_SHUTDOWN_GRACE_MS: (config) => config.worker.shutdownGraceMs,
  OUTBOX_ROLL_OVER_EVENTS: (config) => config.relay.rollOverEvents,
  OUTBOX_CONCURRENCY: (config) => config.handling.concurrency,
  OUTBOX_LEDGER_LEASE_MS: (config) => config.handling.leaseMs,
  OUTBOX_LEDGER_RENEW_MS: (config) => config.handling.renewMs,
  OUTBOX_LEDGER_MAX_LEASE_MS: (config) => config.handling.maxLeaseMs,
  OUTBOX_LEDGER_RETENTION_MS: (config) => config.handling.retentionMs,
  OUTBOX_DONE_RETENTION_MS: (config) => config.retention.doneMs ?? 'never',
  OUTBOX_RETENTION_OVERRIDES: (config) => overridesText(config.retention.byType) || undefined,
  OUTBOX_SKIPPED_RETENTION_MS: (config) => config.retention.skippedMs ?? 'never',
  OUTBOX_DEAD_RETENTION_MS: (config) => config.retention.deadMs ?? 'never',
  OUTBOX_MAINTENANCE_MS: (config) => config.retention.everyMs,
  OUTBOX_SWEEP_MS: (config) => config.handling.sweepMs,
  OUTBOX_SWEEP_AFTER_MS: (config) => config.handling.sweepAfterMs,
  OUTBOX_COMPARE_MS: (config) => config.handling.compareMs,
  OUTBOX_MISSING_HANDLER_MS: (config) => config.handling.missingHandlerMs,
  OUTBOX_NEWER_VERSION_MS: (config) => config.handling.newerVersionMs,
  OUTBOX_RUN_STARTS_PER_SECOND: (config) => config.handling.runStartsPerSecond,
  OUTBOX_METRICS_ADDRESS: (config) => config.metricsAddress,
  OUTBOX_LOG_LEVEL: (config) => config.logLevel,
};

export function settingsOf(config: Config, env: Environment): Setting[] {
  return Object.entries(SETTINGS).map(([variable, read]) => ({
    variable,
    value: read(config) ?? null,
    source: env[variable] ? 'given' : 'default',
  }));
}

/**
 * Temporal's own variables: address and namespace always, which may also stand in its configuration file; the others
 * where they are given.
 */
export function temporalSettingsOf(profile: ClientConfigProfile, env: Environment): Setting[] {
  const place = (variable: string, inForce: string | undefined, byDefault: string): Setting => ({
    variable,
    value: inForce ?? byDefault,
    source: env[variable] ? 'given' : inForce === undefined ? 'default' : 'file',
  });
  const others = Object.entries(env).filter(
    ([name, value]) =>
      name.startsWith('TEMPORAL_') && value && !['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE'].includes(name),
  );
  return [
    place('TEMPORAL_ADDRESS', profile.address, '127.0.0.1:7233'),
    place('TEMPORAL_NAMESPACE', profile.namespace, 'default'),
    ...others
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([variable, value = '']) => ({
        variable,
        value: maskedTemporal(variable, value),
        source: 'given' as const,
      })),
  ];
}
