import type { Config } from '../config';
import type { NatsLink } from '../broker/link';
import { countByHandler } from '../deliveries/handlerCounts';
import { readBacklog } from '../outbox/backlog';
import { openDatabase, type Database } from '../postgres/database';
import { databaseNow } from '../postgres/now';
import { statusQuery as consumerStatusQuery } from '../workflows/consumerMessages';
import { statusQuery } from '../workflows/messages';
import { explained } from './database';
import { half } from './half';
import { ratesOf, type Look } from './rates';
import { connectRelay, type RelayLink } from './relay';
import type { Status } from './statusPage';

const TIMEOUT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 3_000;

/** All parts of a status, read at the same moment. Connections are kept between two looks, and made again once lost. */
export class StatusSource {
  private readonly db: Database;
  private temporal: Promise<RelayLink> | undefined;
  private nats: Promise<NatsLink> | undefined;
  private before: Look | undefined;

  constructor(private readonly config: Config) {
    this.db = openDatabase({
      url: config.databaseUrl,
      schema: config.schema,
      poolSize: 1,
      applicationName: 'temporal-outbox cli',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      // A server that stands still would hold up every look from then on, and Ctrl-C with it.
      query_timeout: TIMEOUT_MS,
    });
  }

  async read(): Promise<Status> {
    const usesStream = this.config.backend === 'nats' && this.config.nats.mode === 'jetstream';
    const usesConsumer = this.config.backend === 'nats';
    const [relay, consumer, deliveryRuns, maintenance, stream, database] = await Promise.all([
      half(() => this.readRelay()),
      usesConsumer ? half(() => this.readConsumer()) : null,
      half(() => this.readRuns()),
      half(() => this.readMaintenance()),
      usesStream ? half(() => this.readStream()) : null,
      half(() => this.readDatabase()),
    ]);
    const look = { atMs: performance.now(), status: { relay, consumer, stream, database, deliveryRuns, maintenance } };
    const rates = ratesOf(look, this.before);
    this.before = look;
    return { ...look.status, rates };
  }

  async close(): Promise<void> {
    const [temporal, nats] = await Promise.allSettled([this.temporal, this.nats]);
    if (temporal.status === 'fulfilled') await temporal.value?.close();
    if (nats.status === 'fulfilled') await nats.value?.close();
    await this.db.close().catch(() => undefined);
  }

  /** One connection for all that ask at the same moment; one that failed is made again at the next look. */
  private link(): Promise<RelayLink> {
    this.temporal ??= connectRelay(this.config).catch((error: unknown) => {
      this.temporal = undefined;
      throw error;
    });
    return this.temporal;
  }

  private async readRelay() {
    const told = await (await this.link()).ask(TIMEOUT_MS, (handle) => handle.query(statusQuery));
    return { workflowId: this.config.relayWorkflowId, ...told };
  }

  private async readConsumer() {
    const told = await (await this.link()).askConsumer(TIMEOUT_MS, (handle) => handle.query(consumerStatusQuery));
    return { workflowId: this.config.consumerWorkflowId, ...told };
  }

  private async readRuns() {
    const link = await this.link();
    const of = `WorkflowType = 'deliverEvent' AND TaskQueue = '${this.config.deliveryTaskQueue.replaceAll("'", "''")}'`;
    const [open, failed] = await Promise.all([
      link.countRuns(TIMEOUT_MS, `${of} AND ExecutionStatus = 'Running'`),
      link.countRuns(TIMEOUT_MS, `${of} AND ExecutionStatus = 'Failed'`),
    ]);
    return { open, failed };
  }

  private async readMaintenance() {
    return { scheduleId: this.config.maintenanceId, ...(await (await this.link()).maintenanceRuns(TIMEOUT_MS)) };
  }

  private async readStream() {
    const { stream, durable } = this.config.nats;
    const { readConsumerInfo, readStreamInfo } = await import('../broker/streamState.js');
    this.nats ??= this.openNats().catch((error: unknown) => {
      this.nats = undefined;
      throw error;
    });
    const link = await this.nats;
    if (!link.connection || !link.up) throw new Error(`${link.reason}: check that it runs, and NATS_URL.`);
    const [info, consumer] = await Promise.all([
      readStreamInfo(link.connection, stream),
      readConsumerInfo(link.connection, stream, durable),
    ]);
    if (!info) throw new Error(`There is no stream ${stream}: a worker creates it at its start (\`outbox worker\`).`);
    return {
      stream,
      durable,
      messages: info.state.messages,
      /** Null: nobody has created the durable. */
      undelivered: consumer?.num_pending ?? null,
      inHand: consumer?.num_ack_pending ?? null,
      redelivered: consumer?.num_redelivered ?? null,
    };
  }

  private async openNats(): Promise<NatsLink> {
    const { NatsLink: Link } = await import('../broker/link.js');
    const { createLogger } = await import('../logger.js');
    const link = new Link(this.config.nats, createLogger('silent'), () => Promise.resolve());
    await link.start();
    return link;
  }

  private async readDatabase() {
    try {
      const backlog = await readBacklog(this.db);
      const handlers = await countByHandler(this.db);
      const at = new Date(await databaseNow(this.db)).toISOString();
      return { schema: this.config.schema, at, ...backlog, handlers };
    } catch (error) {
      throw explained(error, this.config);
    }
  }
}
