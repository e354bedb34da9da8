import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Pool } from 'pg';
import { migrate, openDatabase } from 'temporal-outbox';
import { migrateDiary } from '../src/adapters/postgres/migrate';
import { startChild, type Child } from './process';

export interface InstanceOptions {
  /** `first` or `second`: in names of logs and directories. */
  readonly name: string;
  readonly databaseUrl: string;
  /** Of the outbox's tables; two instances on one Temporal server need two. */
  readonly outboxSchema: string;
  readonly port: number;
  readonly metadataUrl: string;
  /** Of logs and objects. */
  readonly directory: string;
  /** NATS, Temporal and whatever else both processes are to know. */
  readonly env: NodeJS.ProcessEnv;
  /** Default: the application's. A test has one that dies where it is told to. */
  readonly workerScript?: string;
}

/**
 * What the environment does not say otherwise: with the defaults, 10 attempts that end up 5 minutes apart, a dead letter
 * takes 20 minutes.
 */
export const QUICK_SETTINGS = Object.freeze({
  EVENT_QUEUE_MAX_ATTEMPTS: '8',
  OUTBOX_BACKOFF_FIRST_MS: '500',
  OUTBOX_BACKOFF_MAX_MS: '5000',
  // Two less are for transactional handlers, of which three wait for others within theirs: images, actors, back-fills.
  OUTBOX_POOL_SIZE: '12',
  // Finds what was re-emitted through the database alone.
  OUTBOX_SWEEP_MS: '1000',
});

const SERVER = join(__dirname, '..', 'src', 'server.ts');
const WORKER = join(__dirname, '..', 'src', 'worker.ts');
/** The worker's grace of 20 s, and a little for closing. */
const WORKER_STOP_MS = 26_000;
const SERVER_STOP_MS = 10_000;

/** One installation of the application: its database, its server and its worker. Either process can be killed and started anew. */
export class Instance {
  readonly origin: string;
  readonly objects: string;
  /** Of both processes; `loadConfig` reads it too. */
  readonly env: NodeJS.ProcessEnv;
  /** Resolves when one of the processes has ended, for whatever reason, with which and how. */
  readonly ended: Promise<string>;
  private parts: { server: Child; worker: Child } | undefined;
  private onEnd: (how: string) => void = () => undefined;

  constructor(readonly options: InstanceOptions) {
    this.ended = new Promise((resolve) => (this.onEnd = resolve));
    this.origin = `http://127.0.0.1:${options.port}`;
    this.objects = join(options.directory, 'objects', options.name);
    this.env = {
      ...QUICK_SETTINGS,
      ...options.env,
      DATABASE_URL: options.databaseUrl,
      OUTBOX_SCHEMA: options.outboxSchema,
      DIARY_ORIGIN: this.origin,
      DIARY_PORT: `${options.port}`,
      METADATA_URL: options.metadataUrl,
      OBJECT_STORE: pathToFileURL(this.objects).href,
    };
  }

  get server(): Child {
    return this.running.server;
  }

  get worker(): Child {
    return this.running.worker;
  }

  /** Migrations first, as a step of a deployment: the server knows nothing of them. */
  async start(): Promise<void> {
    const db = openDatabase({ url: this.options.databaseUrl, schema: this.options.outboxSchema, poolSize: 1 });
    try {
      await migrate(db, (message) => console.error(message));
    } finally {
      await db.close();
    }
    const pool = new Pool({ connectionString: this.options.databaseUrl, max: 1 });
    pool.on('error', () => undefined);
    try {
      await migrateDiary(pool);
    } finally {
      await pool.end();
    }
    this.parts = { server: this.spawn('server'), worker: this.spawn('worker') };
    try {
      await Promise.all([this.server.ready, this.worker.ready]);
    } catch (error) {
      const { message } = error as Error;
      if (!message.includes('differs from the running')) throw error;
      throw new Error(`${message} Start over with --fresh, or give each its own --directory.`, { cause: error });
    }
  }

  /** Starts the server anew, which must have ended. */
  async startServer(): Promise<void> {
    this.running.server = this.spawn('server');
    await this.server.ready;
  }

  async startWorker(): Promise<void> {
    this.running.worker = this.spawn('worker');
    await this.worker.ready;
  }

  async stop(): Promise<void> {
    if (this.parts) await Promise.all([this.server.stop(), this.worker.stop()]);
  }

  kill(): void {
    this.parts?.server.kill();
    this.parts?.worker.kill();
  }

  private get running(): { server: Child; worker: Child } {
    if (!this.parts) throw new Error(`The ${this.options.name} instance has not been started`);
    return this.parts;
  }

  private spawn(part: 'server' | 'worker'): Child {
    const name = `${this.options.name} ${part}`;
    const child = startChild({
      name,
      script: part === 'worker' ? (this.options.workerScript ?? WORKER) : SERVER,
      env: this.env,
      logFile: join(this.options.directory, 'logs', `${name.replace(' ', '-')}.log`),
      readyLine: `The ${part} is ready`,
      stopTimeoutMs: part === 'worker' ? WORKER_STOP_MS : SERVER_STOP_MS,
    });
    void child.ended.then((how) => this.onEnd(`${name} has ended ${how}`));
    return child;
  }
}

/** Makes the database of a second instance on the same server unless it is there. @returns its URL */
export async function secondDatabase(url: string): Promise<string> {
  const second = new URL(url);
  const name = `${second.pathname.slice(1)}_second`;
  second.pathname = `/${name}`;
  const pool = new Pool({ connectionString: url, max: 1 });
  pool.on('error', () => undefined);
  try {
    const { rows } = await pool.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (rows.length === 0) await pool.query(`CREATE DATABASE "${name.replaceAll('"', '""')}"`);
  } finally {
    await pool.end();
  }
  return second.href;
}
