import type { Config } from '../config';
import { countByHandler } from '../deliveries/handlerCounts';
import { readBacklog } from '../outbox/backlog';
import { readOldestDue } from '../outbox/gauges';
import { bounded } from '../postgres/bounded';
import type { ConsumerState } from '../workflows/consumerMessages';
import type { RelayState } from '../workflows/messages';
import { Fresh } from './fresh';
import type { Metrics } from './metrics';
import type { Parts } from './parts';
import { readReadiness, type Readiness } from './readiness';
import { readRunState } from './runState';

const DATABASE_MS = 2_000;
const KEEP_MS = 5_000;
/** Traffic is steered by it, and an alert waits for it. */
const READINESS_MS = 1_000;

const RELAY_STATES: readonly RelayState[] = [
  'starting',
  'running',
  'pausing',
  'paused',
  'waiting for the broker',
  'continuing as new',
  'ending',
];
const CONSUMER_STATES: readonly ConsumerState[] = [
  'without workers',
  'receiving',
  'waiting for the broker',
  'pausing',
  'paused',
  'continuing as new',
  'ending',
];

/**
 * What is not counted as it happens, but looked at when somebody asks: a worker that nobody scrapes does none of it. All
 * of it is bounded, so that an answer comes within seconds whatever is away; what cannot be read is left out.
 */
export class Readings {
  readonly readiness: Fresh<Readiness>;
  private readonly oldestDue;
  private readonly counts;
  private readonly relayState;
  private readonly consumerState;
  private readonly gauges;

  constructor(
    private readonly parts: Parts,
    private readonly metrics: Metrics,
    private readonly config: Config,
  ) {
    const { meter } = metrics;
    this.gauges = {
      ready: meter.gauge('outbox_ready', 'Whether /readyz says that the worker can do its work'),
      database: meter.gauge('outbox_database_up', 'Whether PostgreSQL answers'),
      broker: meter.gauge('outbox_broker_up', 'Whether the connection to the broker is up'),
      wake: meter.gauge('outbox_wake_listener_proven', 'Whether wake-ups come through'),
      oldest: meter.gauge('outbox_oldest_due_age_seconds', 'Age of the event that is claimed next, 0 without one'),
      backlog: meter.gauge('outbox_backlog_events', 'Rows of event_queue that are not done', ['status']),
      due: meter.gauge('outbox_due_events', 'Of these, those that a claim would take now'),
      deliveries: meter.gauge('outbox_deliveries', 'Handlings that wait for another attempt, or are dead letters', [
        'handler',
        'state',
      ]),
      inHand: meter.gauge('outbox_events_in_hand', 'Events that are with the handlers of this worker'),
      relay: meter.gauge('outbox_relay_state', '1 for the state that the relay is in', ['state']),
      consumer: meter.gauge('outbox_consumer_state', '1 for the state that the consumer is in', ['state']),
    };
    this.readiness = new Fresh(() => readReadiness(parts, config), READINESS_MS, 2 * DATABASE_MS + 1_000, 0);
    this.oldestDue = new Fresh(() => bounded(db(parts), DATABASE_MS, readOldestDue), KEEP_MS, DATABASE_MS);
    this.counts = new Fresh(
      () =>
        bounded(db(parts), DATABASE_MS, async (reader) => ({
          backlog: await readBacklog(reader),
          handlers: await countByHandler(reader),
        })),
      KEEP_MS,
      2 * DATABASE_MS,
    );
    // A query is an action on managed Temporal, so that it is asked rarely, and only by workers that do not know.
    const keepMs = config.relay.longPollMs / 2;
    const stateOf = (workflowId: string) => () => readRunState(client(parts), workflowId);
    this.relayState = new Fresh(stateOf(config.relayWorkflowId), keepMs, DATABASE_MS);
    this.consumerState = new Fresh(stateOf(config.consumerWorkflowId), keepMs, DATABASE_MS);
  }

  /** Sets the gauges. */
  async read(): Promise<void> {
    const { parts, gauges } = this;
    if (parts.broker && this.config.backend === 'nats') gauges.broker.set(Number(parts.broker.up));
    if (parts.wake) gauges.wake.set(Number(parts.wake.proven));
    if (parts.fastPath) gauges.inHand.set(parts.fastPath.events);
    await Promise.all([
      this.readReadiness(),
      this.readOldest(),
      this.readCounts(),
      this.readRelay(),
      this.readConsumer(),
    ]);
  }

  private async readReadiness(): Promise<void> {
    const { ready, database } = this.gauges;
    const read = await this.readiness.get();
    ready.set(Number(read?.ready ?? false));
    database.set(Number(read?.postgres.ok ?? false));
  }

  private async readOldest(): Promise<void> {
    const { oldest } = this.gauges;
    const read = await this.oldestDue.get();
    if (read) oldest.set(read.ageSeconds);
    else oldest.clear();
  }

  private async readCounts(): Promise<void> {
    const { backlog, due, deliveries } = this.gauges;
    const read = await this.counts.get();
    for (const gauge of [backlog, due, deliveries]) gauge.clear();
    if (!read) return;
    const { pending, deferred, processing, deadLettered } = read.backlog;
    const byStatus = { pending, deferred, processing, dead_lettered: deadLettered };
    for (const [status, rows] of Object.entries(byStatus)) backlog.set(rows, status);
    due.set(read.backlog.due);
    for (const { handler, waiting, dead } of read.handlers) {
      deliveries.set(waiting, handler, 'waiting');
      deliveries.set(dead, handler, 'dead');
    }
  }

  private async readRelay(): Promise<void> {
    const state = this.metrics.isClaiming ? 'running' : await this.relayState.get();
    for (const known of [...RELAY_STATES, 'absent', 'unknown'])
      this.gauges.relay.set(Number(known === (state ?? 'unknown')), known);
  }

  private async readConsumer(): Promise<void> {
    if (!this.parts.receives) return;
    const state = this.metrics.isReceiving ? 'receiving' : await this.consumerState.get();
    for (const known of [...CONSUMER_STATES, 'absent', 'unknown'])
      this.gauges.consumer.set(Number(known === (state ?? 'unknown')), known);
  }
}

function db({ db: opened }: Parts) {
  if (!opened) throw new Error('PostgreSQL has not been connected to yet');
  return opened;
}

function client({ client: connected }: Parts) {
  if (!connected) throw new Error('Temporal has not been connected to');
  return connected;
}
