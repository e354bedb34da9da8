export type Settings = Readonly<Record<string, string>>;

/**
 * Of a long storm: the defaults, so that what is measured is what a user gets. But what always fails would take 20
 * minutes to die of its ten attempts; of six it dies within three.
 */
const DEFAULT: Settings = { EVENT_QUEUE_MAX_ATTEMPTS: '6', OUTBOX_SHUTDOWN_GRACE_MS: '10000' };

/**
 * Of a short one: leases, polls and backoff shortened, so that faults of seconds go beyond them. What decides that a
 * worker is gone is not: a busy machine would be taken for it, and each heartbeat is a write of Temporal's.
 */
const SHORT: Settings = {
  EVENT_QUEUE_MAX_ATTEMPTS: '5',
  OUTBOX_SLICE_MS: '300',
  OUTBOX_LONG_POLL_MS: '5000',
  OUTBOX_POLL_MS: '1000',
  OUTBOX_UNPROVEN_POLL_MS: '300',
  OUTBOX_SETTLE_MS: '300',
  OUTBOX_PROBE_MS: '1000',
  OUTBOX_PUBLISH_TIMEOUT_MS: '2000',
  OUTBOX_SHUTDOWN_GRACE_MS: '3000',
  OUTBOX_BACKOFF_FIRST_MS: '500',
  OUTBOX_BACKOFF_MAX_MS: '3000',
  OUTBOX_LEDGER_LEASE_MS: '5000',
  OUTBOX_LEDGER_RENEW_MS: '1500',
  OUTBOX_ACK_WAIT_MS: '4000',
  OUTBOX_SWEEP_MS: '1000',
  OUTBOX_SWEEP_AFTER_MS: '5000',
  OUTBOX_COMPARE_MS: '5000',
  OUTBOX_MISSING_HANDLER_MS: '2000',
};

/** What the checker and the faults must know of them, in milliseconds. */
export interface Timings {
  readonly maxAttempts: number;
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  readonly ledgerLeaseMs: number;
  readonly ledgerRenewMs: number;
}

export function settingsOf(short: boolean): Settings {
  return {
    ...(short ? SHORT : DEFAULT),
    OUTBOX_MIGRATE: 'off',
    OUTBOX_METRICS_ADDRESS: 'off',
  };
}

export function timingsOf(settings: Settings): Timings {
  const number = (name: string, byDefault: number) => Number(settings[name] ?? byDefault);
  return {
    maxAttempts: number('EVENT_QUEUE_MAX_ATTEMPTS', 10),
    backoffFirstMs: number('OUTBOX_BACKOFF_FIRST_MS', 5_000),
    backoffMaxMs: number('OUTBOX_BACKOFF_MAX_MS', 300_000),
    ledgerLeaseMs: number('OUTBOX_LEDGER_LEASE_MS', 30_000),
    ledgerRenewMs: number('OUTBOX_LEDGER_RENEW_MS', 10_000),
  };
}
