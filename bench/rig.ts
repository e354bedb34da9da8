import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { Client, Connection } from '@temporalio/client';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type NatsConnection } from 'nats';
import { loadConfig, type Config } from '../src/config';
import { openDatabase, type Database } from '../src/postgres/database';
import { migrate } from '../src/postgres/migrate';
import { startNats, startPostgres, startTemporal, type Server } from '../src/servers';
import { freePort } from '../src/servers/ports';
import { requireBuild } from './build';
import { Relay } from './relay';
import { WorkerProcess } from './worker';

/** What the shell may have set: the bench measures defaults. */
const SETTINGS = /^(OUTBOX_|NATS_|TEMPORAL_|EVENT_|DATABASE_URL$)/;

export type Say = (line: string) => void;

/** The servers of one run, clients for them, and the worker processes that it starts. `stop` ends all of it. */
export class Rig {
  private readonly closers: (() => Promise<unknown> | void)[] = [];
  private workers = 0;
  db!: Database;
  nats!: NatsConnection;
  manager!: JetStreamManager;
  temporal!: Client;
  relay!: Relay;
  broker!: Server;
  config!: Config;
  private env!: NodeJS.ProcessEnv;

  private constructor(
    readonly directory: string,
    readonly say: Say,
    readonly quick: boolean,
    private readonly profileTo: string | undefined,
    private readonly settings: NodeJS.ProcessEnv,
    /** How many events, where a part lets that be chosen. */
    readonly events: number | undefined,
  ) {}

  /**
   * @param options.profileTo a directory that gets a CPU profile of every worker
   * @param options.settings what all its workers have in common that is not at its default
   */
  static create(options: {
    say: Say;
    quick: boolean;
    profileTo: string | undefined;
    settings?: NodeJS.ProcessEnv;
    events?: number | undefined;
  }): Rig {
    const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-bench-'));
    return new Rig(directory, options.say, options.quick, options.profileTo, options.settings ?? {}, options.events);
  }

  /** Separate from `create`, so that what is half way up can be stopped. */
  async open(): Promise<void> {
    requireBuild();
    const { directory } = this;
    // Durable, as in production: a commit that does not reach the disk would flatter everything measured here.
    const postgres = await this.server(startPostgres({ directory, durable: true }));
    this.broker = await this.server(startNats({ directory }));
    const metricsPort = await freePort();
    const extraArgs = ['--metrics-port', String(metricsPort)];
    const temporal = await this.server(startTemporal({ directory, headless: true, extraArgs }));
    this.env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !SETTINGS.test(name))),
      DATABASE_URL: postgres.url,
      NATS_URL: this.broker.url,
      TEMPORAL_ADDRESS: temporal.url,
      ...this.settings,
    };
    this.config = loadConfig(this.env);
    this.db = this.database();
    await migrate(this.db);
    this.nats = await this.connectNats();
    this.manager = await jetstreamManager(this.nats);
    const connection = await Connection.connect({ address: temporal.url });
    this.onStop(() => connection.close());
    this.temporal = new Client({ connection });
    this.relay = new Relay(this.temporal, this.config.relayWorkflowId, metricsPort);
  }

  /** The outbox in a schema of its own, migrated: what a worker with these settings works on. */
  async schema(settings: NodeJS.ProcessEnv): Promise<{ config: Config; db: Database }> {
    const config = loadConfig(this.environment(settings));
    const db = openDatabase({
      url: planning(config.databaseUrl, { enable_seqscan: 'off' }),
      schema: config.schema,
      poolSize: 2,
      applicationName: 'bench',
    });
    this.onStop(() => db.close());
    await migrate(db);
    return { config, db };
  }

  /** @param settings PostgreSQL's, for this pool's sessions only */
  database(poolSize = 2, settings: Record<string, string> = {}): Database {
    const url = planning(this.config.databaseUrl, settings);
    const db = openDatabase({ url, schema: this.config.schema, poolSize, applicationName: 'bench' });
    let closing: Promise<void> | undefined;
    const close = () => (closing ??= db.close());
    this.onStop(close);
    return { ...db, close };
  }

  async connectNats(): Promise<NatsConnection> {
    const connection = await connect({ servers: this.broker.url, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
    this.onStop(() => connection.close());
    return connection;
  }

  /**
   * A worker with every setting at its default but those given.
   *
   * @param handlers a module of handlers; without it the worker only publishes
   */
  async worker(settings: NodeJS.ProcessEnv = {}, handlers?: string): Promise<WorkerProcess> {
    const log = join(this.directory, 'logs', `worker-${++this.workers}.log`);
    const nodeArguments = this.profileTo ? ['--cpu-prof', `--cpu-prof-dir=${this.profileTo}`] : [];
    const worker = await WorkerProcess.start(this.environment(settings), log, { nodeArguments, handlers });
    this.onStop(() => worker.stop());
    return worker;
  }

  environment(settings: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    return { ...this.env, ...settings };
  }

  onStop(closer: () => Promise<unknown> | void): void {
    this.closers.push(closer);
  }

  /** Ends everything, the last first, and removes the data. Goes on when a part of it fails. Safe to repeat. */
  async stop(): Promise<void> {
    for (let closer = this.closers.pop(); closer; closer = this.closers.pop()) {
      try {
        await closer();
      } catch (error) {
        this.say(`while stopping: ${(error as Error).message}`);
      }
    }
    rmSync(this.directory, { recursive: true, force: true });
  }

  private async server<T extends Server>(starting: Promise<T>): Promise<T> {
    const server = await starting;
    this.onStop(() => server.stop());
    return server;
  }
}

function planning(databaseUrl: string, settings: Record<string, string>): string {
  const url = new URL(databaseUrl);
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  if (options.length > 0) url.searchParams.set('options', options.join(' '));
  return url.toString();
}
