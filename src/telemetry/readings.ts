import type { Config } from '../config';
import { countByHandler } from '../deliveries/handlerCounts';
import { readBacklog } from '../outbox/backlog';
import { readEpoch } from '../outbox/fence';
import { readOldestDue } from '../outbox/oldestDue';
import { bounded } from '../postgres/bounded';
import { Fresh } from './fresh';
import { CONSUMER_STATES, gaugesOf, RELAY_STATES } from './gauges';
import type { Metrics } from './metrics';
import type { Parts } from './parts';
import { readReadiness, type Readiness } from './readiness';
import { readRunState, RelayState } from './runState';
import { readStreamEvents } from './streamEvents';

const ANSWER_MS = 2_000;
const KEEP_MS = 5_000;
/** Traffic is steered by it, and an alert waits for it. */
const READINESS_MS = 1_000;

/**
 * What is not counted as it happens, but looked at when somebody asks: a worker that nobody scrapes does none of it. All
 * of it is bounded, so that an answer comes within seconds whatever is away; what cannot be read is left out.
 */
export class Readings {
  readonly readiness: Fresh<Readiness>;
  private readonly front;
  private readonly counts;
  private readonly stream;
  private readonly relayState;
  private readonly consumerState;
  private readonly gauges;

  constructor(
    private readonly parts: Parts,
    private readonly metrics: Metrics,
    private readonly config: Config,
  ) {
    this.gauges = gaugesOf(metrics.meter);
    this.readiness = new Fresh(() => readReadiness(parts, config), READINESS_MS, 2 * ANSWER_MS + 1_000, 0);
    // Two look-ups by index, apart from the counts: they are there also when a backlog is too large to be counted in time.
    this.front = new Fresh(
      () =>
        bounded(needed(parts, 'db'), ANSWER_MS, async (reader) => ({
          ageSeconds: (await readOldestDue(reader)).ageSeconds,
          epoch: await readEpoch(reader),
        })),
      KEEP_MS,
      ANSWER_MS,
    );
    this.counts = new Fresh(
      () =>
        bounded(needed(parts, 'db'), ANSWER_MS, async (reader) => ({
          backlog: await readBacklog(reader),
          handlers: await countByHandler(reader),
        })),
      KEEP_MS,
      2 * ANSWER_MS,
    );
    this.stream = new Fresh(() => readStreamEvents(needed(parts, 'link'), config.nats), KEEP_MS, ANSWER_MS);
    const stateOf = (workflowId: string) => () => readRunState(needed(parts, 'client'), workflowId);
    this.relayState = new RelayState(stateOf(config.relayWorkflowId), config.relay, ANSWER_MS);
    // A healthy worker with handlers has a receive open, and asks only when it has none.
    this.consumerState = new Fresh(stateOf(config.consumerWorkflowId), config.relay.longPollMs / 2, ANSWER_MS);
  }

  /** Sets the gauges. */
  async read(): Promise<void> {
    const { parts, gauges } = this;
    if (parts.broker && this.config.backend === 'nats') gauges.broker.set(Number(parts.broker.up));
    if (parts.wake) gauges.wake.set(Number(parts.wake.proven));
    if (parts.fastPath) gauges.inHand.set(parts.fastPath.events);
    await Promise.all([
      this.readReadiness(),
      this.readFront(),
      this.readCounts(),
      this.readStream(),
      this.readConsumer(),
    ]);
  }

  private async readReadiness(): Promise<void> {
    const { ready, database } = this.gauges;
    const read = await this.readiness.get();
    ready.set(Number(read?.ready ?? false));
    database.set(Number(read?.postgres.ok ?? false));
  }

  /** The event that is next, and with the fence the relay. */
  private async readFront(): Promise<void> {
    const { oldest, relay } = this.gauges;
    const read = await this.front.get();
    if (read) oldest.set(read.ageSeconds);
    else oldest.clear();
    const state = (await this.relayState.get(this.metrics.isClaiming, read?.epoch)) ?? 'unknown';
    for (const known of RELAY_STATES) relay.set(Number(known === state), known);
  }

  private async readCounts(): Promise<void> {
    const { backlog, due, deliveries } = this.gauges;
    const read = await this.counts.get();
    for (const gauge of [backlog, due, deliveries]) gauge.clear();
    if (!read) return;
    const { pending, deferred, processing, retrying, deadLettered } = read.backlog;
    const byStatus = { pending, deferred, processing, retrying, dead_lettered: deadLettered };
    for (const [status, rows] of Object.entries(byStatus)) backlog.set(rows, status);
    due.set(read.backlog.due);
    for (const { handler, waiting, dead } of read.handlers) {
      deliveries.set(waiting, handler, 'waiting');
      deliveries.set(dead, handler, 'dead');
    }
  }

  private async readStream(): Promise<void> {
    if (this.config.backend !== 'nats' || this.config.nats.mode !== 'jetstream') return;
    const { stream } = this.gauges;
    const read = await this.stream.get();
    stream.clear();
    if (!read) return;
    stream.set(read.undelivered, 'undelivered');
    stream.set(read.inHand, 'in hand');
  }

  private async readConsumer(): Promise<void> {
    if (!this.parts.receives) return;
    const state = this.metrics.isReceiving ? 'receiving' : ((await this.consumerState.get()) ?? 'unknown');
    for (const known of CONSUMER_STATES) this.gauges.consumer.set(Number(known === state), known);
  }
}

/** A part as it is now. @throws while the worker has not got that far */
function needed<Name extends 'db' | 'client' | 'link'>(parts: Parts, name: Name): NonNullable<Parts[Name]> {
  const part = parts[name];
  if (!part) throw new Error(`the worker has no ${name} yet`);
  return part;
}
