import type { ConsumerState } from '../workflows/consumerMessages';
import type { RelayState } from '../workflows/messages';
import type { Meter } from './meter';

/** What `/metrics` says of a run beside the states that it has itself: none is open; Temporal does not say. */
const BESIDE = ['absent', 'unknown'] as const;

export const RELAY_STATES: readonly (RelayState | (typeof BESIDE)[number])[] = [
  'starting',
  'running',
  'pausing',
  'paused',
  'waiting for the broker',
  'continuing as new',
  'ending',
  ...BESIDE,
];

export const CONSUMER_STATES: readonly (ConsumerState | (typeof BESIDE)[number])[] = [
  'without workers',
  'receiving',
  'waiting for the broker',
  'pausing',
  'paused',
  'continuing as new',
  'ending',
  ...BESIDE,
];

export type Gauges = ReturnType<typeof gaugesOf>;

/** What `Readings` sets at a scrape, each with the meaning that docs/operations.md gives it. */
export function gaugesOf(meter: Meter) {
  return {
    ready: meter.gauge('outbox_ready', 'Whether /readyz says that the worker can do its work'),
    database: meter.gauge('outbox_database_up', 'Whether PostgreSQL answers'),
    broker: meter.gauge('outbox_broker_up', 'Whether the connection to the broker is up'),
    wake: meter.gauge('outbox_wake_listener_proven', 'Whether wake-ups come through'),
    oldest: meter.gauge('outbox_oldest_due_age_seconds', 'Age of the event that is claimed next, 0 without one'),
    backlog: meter.gauge('outbox_backlog_events', 'Rows of event_queue that are not done', ['status']),
    due: meter.gauge('outbox_due_events', 'Of these, those that a claim would take now'),
    stream: meter.gauge('outbox_stream_events', 'Events of the stream that handlers are not through with', ['state']),
    deliveries: meter.gauge('outbox_deliveries', 'Handlings that wait for another attempt, or are dead letters', [
      'handler',
      'state',
    ]),
    inHand: meter.gauge('outbox_events_in_hand', 'Events that are with the handlers of this worker'),
    relay: meter.gauge('outbox_relay_state', '1 for the state that the relay is in', ['state']),
    consumer: meter.gauge('outbox_consumer_state', '1 for the state that the consumer is in', ['state']),
  };
}
