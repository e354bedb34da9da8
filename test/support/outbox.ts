import { Client, Connection } from '@temporalio/client';
import { jetstream, jetstreamManager, DeliverPolicy, type JetStreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from 'nats';
import pino from 'pino';
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { loadConfig, type Config } from '../../src/config';
import type { Logger } from '../../src/logger';
import { installRuntime } from '../../src/temporal/runtime';
import { runWorker, type RunWorkerOptions } from '../../src/runWorker';
import type { RelayStatus } from '../../src/workflows/messages';
import { cloneDatabase, underRoles, type TestDatabase } from './database';
import { testEnvironment } from './environment';
import { eventually } from './eventually';
import { keepingStacks, withoutWorkflowThreads, withWorkflowThreads } from './workflowThreads';

/** What Temporal's SDK said in this process, as the log of a worker has it. On the report it would drown the tests. */
export const sdkLogs: Record<string, unknown>[] = [];

// Once per process and before anything connects.
installRuntime(
  pino({ level: 'debug', base: null }, { write: (line) => sdkLogs.push(JSON.parse(line) as Record<string, unknown>) }),
);

withoutWorkflowThreads();

export type Settings = Record<string, string>;

/**
 * Shortened so that a test waits for effects and not for defaults; each test states what it shortens further. What decides
 * that a worker or the broker is gone is not: a busy machine would be taken for it.
 */
const SHORT: Settings = {
  OUTBOX_SLICE_MS: '200',
  OUTBOX_LONG_POLL_MS: '5000',
  OUTBOX_POLL_MS: '1000',
  OUTBOX_UNPROVEN_POLL_MS: '200',
  OUTBOX_SETTLE_MS: '200',
  OUTBOX_PROBE_MS: '1000',
  OUTBOX_STICKY_TIMEOUT_MS: '500',
  OUTBOX_SHUTDOWN_GRACE_MS: '5000',
  OUTBOX_BACKOFF_FIRST_MS: '500',
  OUTBOX_BACKOFF_MAX_MS: '4000',
  OUTBOX_SWEEP_MS: '1000',
  OUTBOX_SWEEP_AFTER_MS: '10000',
  // Whoever reads the history of a run finds all of it in one.
  OUTBOX_ROLL_OVER_EVENTS: '1000',
  // Many workers at once; a test of the metrics turns them on.
  OUTBOX_METRICS_ADDRESS: 'off',
};

export interface InProcessWorker {
  readonly logs: Record<string, unknown>[];
  /** Graceful, as on SIGTERM. */
  stop(): Promise<void>;
}

/** What a worker in this process is given beside its settings. */
export type HandlingOptions = Pick<RunWorkerOptions, 'handlers' | 'events' | 'redactFailure' | 'archive' | 'telemetry'>;

export interface WorkerProcess {
  readonly child: ChildProcess;
  readonly logs: string[];
  /** Resolves with the exit code; null after a signal. */
  readonly exited: Promise<number | null>;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

export interface StoredMessage {
  readonly seq: number;
  readonly subject: string;
  readonly eventId: string;
  readonly body: string;
  readonly headers: Record<string, string>;
}

/**
 * One test file's world on the shared servers: a database, stream, subject prefix, task queue and relay of its own.
 * `close` stops whatever it started.
 */
export class TestOutbox {
  private readonly closers: (() => Promise<unknown>)[] = [];

  private constructor(
    readonly database: TestDatabase,
    readonly settings: Settings,
    readonly client: Client,
    readonly nats: NatsConnection,
    readonly manager: JetStreamManager,
  ) {}

  static async create(settings: Settings = {}): Promise<TestOutbox> {
    const environment = testEnvironment();
    const database = await cloneDatabase();
    const natsUrl = settings.NATS_URL ?? environment.natsUrl;
    const temporalAddress = settings.TEMPORAL_ADDRESS ?? environment.temporalAddress;
    const connection = await Connection.connect({ address: temporalAddress });
    const nats = await connect({ servers: natsUrl, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
    const manager = await jetstreamManager(nats, { checkAPI: false });
    const outbox = new TestOutbox(
      database,
      {
        ...SHORT,
        DATABASE_URL: database.url,
        OUTBOX_SCHEMA: database.schema,
        NATS_URL: natsUrl,
        TEMPORAL_ADDRESS: temporalAddress,
        OUTBOX_STREAM: `S_${database.schema}`,
        OUTBOX_SUBJECT_PREFIX: `e_${database.schema}`,
        ...(underRoles() && { OUTBOX_MIGRATE: 'off' }),
        ...settings,
      },
      new Client({ connection }),
      nats,
      manager,
    );
    outbox.closers.push(
      () => database.drop(),
      () => connection.close(),
      () => nats.close(),
      () => manager.streams.delete(outbox.config().nats.stream).catch(() => undefined),
      () => manager.streams.delete(`${outbox.config().nats.stream}_ADVISORIES`).catch(() => undefined),
      () =>
        Promise.all(
          [outbox.relay(), outbox.consumer()].map((run) => run.terminate('the test is over').catch(() => undefined)),
        ),
      () => outbox.endMaintenance(),
    );
    return outbox;
  }

  get db() {
    return this.database.db;
  }

  config(settings: Settings = {}): Config {
    return loadConfig({ ...this.settings, ...settings });
  }

  relay() {
    return this.client.workflow.getHandle(this.config().relayWorkflowId);
  }

  consumer() {
    return this.client.workflow.getHandle(this.config().consumerWorkflowId);
  }

  /** The clean-up's schedule, which every worker makes. */
  maintenance() {
    return this.client.schedule.getHandle(this.config().maintenanceId);
  }

  private async endMaintenance(): Promise<void> {
    const schedule = await this.maintenance()
      .describe()
      .catch(() => undefined);
    if (!schedule) return;
    await this.maintenance().delete();
    const runs = schedule.info.runningActions.map(({ workflow }) =>
      this.client.workflow.getHandle(workflow.workflowId),
    );
    await Promise.all(runs.map((run) => run.terminate('the test is over').catch(() => undefined)));
  }

  status(): Promise<RelayStatus> {
    return this.relay().query<RelayStatus>('status');
  }

  /** A worker inside this process, ready when this resolves. Temporal's address comes from the environment variable. */
  async startWorker(settings: Settings = {}, options: HandlingOptions = {}): Promise<InProcessWorker> {
    process.env.TEMPORAL_ADDRESS = this.settings.TEMPORAL_ADDRESS;
    const stop = new AbortController();
    const { logger, logs } = recordingLogger();
    let running: Promise<void> | undefined;
    const ready = () =>
      new Promise<void>((resolve, reject) => {
        running = runWorker(this.config(settings), {
          ...options,
          logger,
          signal: stop.signal,
          onReady: resolve,
          workflowBundle: { codePath: testEnvironment().workflowBundle },
        });
        running.catch(reject);
      });
    await keepingStacks(ready);
    const stopped = () => {
      stop.abort();
      return running ?? Promise.resolve();
    };
    this.closers.push(stopped);
    return { logs, stop: stopped };
  }

  /** The built worker as a process of its own, ready when this resolves; for tests that kill, freeze or signal it. */
  async spawnWorker(
    settings: Settings = {},
    options: {
      awaitReady?: boolean;
      /** A module with handlers. */
      handlers?: string;
      /** A command that runs it. */
      through?: readonly string[];
    } = {},
  ): Promise<WorkerProcess> {
    const dist = join(__dirname, '..', '..', 'dist');
    const command =
      options.handlers === undefined
        ? [join(dist, 'worker.js')]
        : [join(dist, 'cli.js'), 'worker', '--handlers', options.handlers];
    const [program = process.execPath, ...args] = [...(options.through ?? []), process.execPath, ...command];
    const child = spawn(program, args, {
      env: { ...withWorkflowThreads(withoutOutboxVariables(process.env)), ...this.settings, ...settings },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const logs: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => line !== '' && logs.push(line));
    // Not `exit`: what it wrote last may come after that.
    const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
    const kill = (signal: NodeJS.Signals) => {
      child.kill(signal);
      return exited;
    };
    this.closers.push(() =>
      child.exitCode === null && child.signalCode === null ? kill('SIGKILL') : Promise.resolve(),
    );
    if (options.awaitReady ?? true) {
      await eventually(
        () => {
          if (child.exitCode !== null) throw new Error(`the worker exited with ${child.exitCode}: ${logs.join('\n')}`);
          return logs.some((line) => line.includes('The worker is ready'));
        },
        undefined,
        'a ready worker',
      );
    }
    return { child, logs, exited, kill };
  }

  /** Everything in this file's stream, oldest first. */
  async messages(): Promise<StoredMessage[]> {
    const { stream } = this.config().nats;
    const { state } = await this.manager.streams.info(stream);
    if (state.messages === 0) return [];
    const consumer = await jetstream(this.nats).consumers.get(stream, { deliver_policy: DeliverPolicy.All });
    const found: StoredMessage[] = [];
    const batch = await consumer.consume({ max_messages: 1_000 });
    for await (const message of batch) {
      const headers: Record<string, string> = {};
      for (const [name, values] of message.headers ?? []) headers[name] = values[0] ?? '';
      found.push({
        seq: message.seq,
        subject: message.subject,
        eventId: headers['Nats-Msg-Id'] ?? '',
        body: message.string(),
        headers,
      });
      if (message.seq >= state.last_seq) break;
    }
    return found;
  }

  /** How often each event id stands in the stream. */
  async streamCounts(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const { eventId } of await this.messages()) counts.set(eventId, (counts.get(eventId) ?? 0) + 1);
    return counts;
  }

  /** Rows by status, for example `{ done: 3 }`. */
  async rowsByStatus(): Promise<Record<string, number>> {
    const { rows } = await this.db.query<{ status: string; count: number }>(
      `SELECT status, count(*)::integer AS count FROM :schema.event_queue GROUP BY status`,
    );
    return Object.fromEntries(rows.map((row) => [row.status, row.count]));
  }

  /** Resolves when all rows are done. */
  allDone(ms = 50_000): Promise<unknown> {
    return eventually(
      async () => {
        const byStatus = await this.rowsByStatus();
        const others = Object.keys(byStatus).filter((status) => status !== 'done');
        if (others.length > 0) throw new Error(JSON.stringify(byStatus));
        return true;
      },
      ms,
      'all rows done',
    );
  }

  /** Runs before everything opened so far is closed. */
  onClose(closer: () => Promise<unknown>): void {
    this.closers.push(closer);
  }

  async close(): Promise<void> {
    const problems: unknown[] = [];
    // All of them, whatever one says: what is left running would disturb the other files.
    for (const closer of this.closers.reverse()) await closer().catch((error: unknown) => problems.push(error));
    if (problems.length > 0) throw problems[0];
  }
}

/** The test run's own OUTBOX_… variables are no settings, and a worker refuses what it does not know. */
function withoutOutboxVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('OUTBOX_')));
}

function recordingLogger(): { logger: Logger; logs: Record<string, unknown>[] } {
  const logs: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'debug', base: null },
    { write: (line: string) => logs.push(JSON.parse(line) as Record<string, unknown>) },
  );
  return { logger, logs };
}
