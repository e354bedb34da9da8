import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { connect } from 'nats';
import { loadConfig, type Config } from '../../src/config';
import { openDatabase, type Database } from '../../src/postgres/database';
import { OUTBOX, ROOT, requireBuild } from '../../bench/build';
import { Diary } from '../diary';
import { timingsOf, type Settings, type Timings } from '../settings';
import { Child } from './child';
import { Proxy } from './proxy';
import { Servers, SERVERS, type ServerName } from './servers';
import { makeTables, ROLES } from './tables';

export type Backend = 'db' | 'nats';
export type Say = (line: string) => void;

/** What the shell may have set: a storm has settings of its own. */
const FOREIGN = /^(OUTBOX_|NATS_|TEMPORAL_|EVENT_|DATABASE_URL$|NODE_OPTIONS$)/;
const SCHEMA = 'storm';

export interface WorldOptions {
  readonly backend: Backend;
  readonly settings: Settings;
  readonly workers: number;
  readonly producers: number;
  readonly seed: number;
  /** Events that the producers write in a second, all together. */
  readonly rate: number;
  /** Weights of event types that differ from the usual ones. */
  readonly weights?: Readonly<Record<string, number>> | undefined;
  /** Loaded into each worker before its own code. */
  readonly preloads?: readonly string[] | undefined;
  /** Leaves the directory where it is. */
  readonly keep?: boolean | undefined;
  readonly say: Say;
}

/** A process and its ways to the servers. */
export interface Actor {
  readonly child: Child;
  readonly ways: Readonly<Record<ServerName, Proxy>>;
  /** Milliseconds by which its wall clock is off stand there. */
  readonly clockFile: string;
}

/** One storm's servers, workers and producers, all of its own. `close` ends and removes everything. */
export class World {
  readonly directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-torture-'));
  readonly diary = new Diary();
  readonly servers = new Servers(this.diary);
  readonly timings: Timings;
  readonly workers: Actor[] = [];
  readonly producers: Actor[] = [];
  private readonly closers: (() => Promise<unknown> | void)[] = [];
  private closing: Promise<void> | undefined;
  db!: Database;
  config!: Config;

  constructor(readonly options: WorldOptions) {
    this.timings = timingsOf(options.settings);
  }

  async open(): Promise<void> {
    requireBuild();
    mkdirSync(join(this.directory, 'journal'));
    mkdirSync(join(this.directory, 'logs'));
    this.closers.push(() => this.servers.stop());
    await this.servers.start(this.directory);
    this.db = openDatabase({ url: this.servers.url('postgres'), schema: SCHEMA, poolSize: 3 });
    this.closers.push(() => this.db.close());
    await makeTables(this.db);
    this.config = loadConfig(this.environment(ROLES.worker));
    for (let n = 1; n <= this.options.workers; n++) this.workers.push(await this.worker(n));
    for (let n = 1; n <= this.options.producers; n++) this.producers.push(await this.producer(n));
  }

  /** A connection to NATS for a moment; past the proxies. */
  async withJetStream<T>(use: (manager: JetStreamManager) => Promise<T>): Promise<T> {
    const connection = await connect({ servers: this.servers.url('nats'), reconnect: false, timeout: 3_000 });
    try {
      return await use(await jetstreamManager(connection, { timeout: 5_000 }));
    } finally {
      await connection.close();
    }
  }

  /** What a process of this world is given; of another role than the worker's, or through proxies. */
  environment(role: string, ways?: Actor['ways']): NodeJS.ProcessEnv {
    const url = (name: ServerName) => ways?.[name].url(this.servers.url(name)) ?? this.servers.url(name);
    const database = new URL(url('postgres'));
    database.username = role;
    return {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !FOREIGN.test(name))),
      ...this.options.settings,
      DATABASE_URL: database.toString(),
      NATS_URL: url('nats'),
      TEMPORAL_ADDRESS: url('temporal'),
      OUTBOX_SCHEMA: SCHEMA,
      EVENT_BUS_BACKEND: this.options.backend,
    };
  }

  /** Safe to repeat. */
  async close(): Promise<void> {
    await (this.closing ??= this.closeAll());
  }

  private async closeAll(): Promise<void> {
    await Promise.all(this.producers.map(({ child }) => child.stop(1_000)));
    await Promise.all(this.workers.map(({ child }) => child.stop(15_000)));
    for (let closer = this.closers.pop(); closer; closer = this.closers.pop()) {
      try {
        await closer();
      } catch (error) {
        this.options.say(`while closing: ${(error as Error).message}`);
      }
    }
    if (this.options.keep) this.options.say(`everything is left in ${this.directory}`);
    else rmSync(this.directory, { recursive: true, force: true });
  }

  private async worker(n: number): Promise<Actor> {
    const preloads = [join(__dirname, '..', 'actors', 'preload.mjs'), ...(this.options.preloads ?? [])];
    const options = preloads.map((file) => `--import=${JSON.stringify(pathToFileURL(file).href)}`).join(' ');
    const handlers = join(__dirname, '..', 'actors', 'handlers.mjs');
    return this.actor(`worker-${n}`, [OUTBOX, 'worker', '--handlers', handlers], ROLES.worker, 'The worker is ready', {
      NODE_OPTIONS: options,
    });
  }

  private async producer(n: number): Promise<Actor> {
    const { seed, rate, producers, weights = {} } = this.options;
    return this.actor(
      `producer-${n}`,
      [join(__dirname, '..', 'actors', 'producer.mjs')],
      ROLES.app,
      'The producer is ready',
      {
        TORTURE_PLAN: JSON.stringify({
          name: `producer-${n}`,
          seed: seed + n,
          rate: rate / producers,
          weights,
        }),
      },
    );
  }

  private async actor(
    name: string,
    args: string[],
    role: string,
    ready: string,
    more: NodeJS.ProcessEnv,
  ): Promise<Actor> {
    const ways = {} as Record<ServerName, Proxy>;
    for (const server of SERVERS) {
      const proxy = await Proxy.to(this.servers.url(server));
      this.closers.push(() => proxy.close());
      ways[server] = proxy;
    }
    const clockFile = join(this.directory, `${name}.clock`);
    const env = {
      ...this.environment(role, ways),
      ...more,
      TORTURE_ROOT: ROOT,
      TORTURE_JOURNAL: join(this.directory, 'journal'),
      TORTURE_CLOCK: clockFile,
    };
    const log = join(this.directory, 'logs', `${name}.log`);
    return { child: new Child({ name, args, env, log, ready }, this.diary), ways, clockFile };
  }
}
