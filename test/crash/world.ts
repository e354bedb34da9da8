import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import { TestOutbox, type Settings, type WorkerProcess } from '../support/outbox';
import { POINTS } from './points/catalog';
import { ELSEWHERE } from './points/elsewhere';
import { WRITES } from './points/point';

/** A point at which a process is to die. */
export interface Fault {
  /** Of a point in the catalog. */
  readonly name: string;
  /** A regular expression for what goes with it: values of a statement, subject and body of a message. Default: any. */
  readonly match?: string;
  readonly when: 'before' | 'after';
  /** Default 1: the first time since the plan was made, in each process. */
  readonly nth?: number;
}

export interface Death {
  readonly pid: number;
  readonly at: number;
}

/** What handlers and `fault.mjs` write down. */
export interface Line {
  readonly kind: 'begin' | 'end' | 'failed' | 'signal' | 'claiming';
  readonly eventId: string;
  readonly handler: string;
  readonly pid: number;
  readonly at: number;
  /** Of one entry into a handler. */
  readonly run?: string;
  readonly attempt?: number;
  readonly reason?: string;
}

/** An effect that `fault.mjs` saw and that is not in the catalog. */
export interface Stranger {
  readonly effect: string;
  readonly text: string;
}

export const LEASE_MS = 2_500;

/** Shortened further, as a case waits for most of them: what a dead worker held is another's soon. */
const SHORTER: Settings = {
  OUTBOX_ACK_WAIT_MS: '1500',
  OUTBOX_LEDGER_LEASE_MS: `${LEASE_MS}`,
  OUTBOX_LEDGER_RENEW_MS: '700',
  OUTBOX_BACKOFF_FIRST_MS: '300',
  OUTBOX_HEARTBEAT_TIMEOUT_MS: '2000',
  OUTBOX_OWN_QUEUE_TIMEOUT_MS: '1000',
};

/** Many workers start at the same time, on a machine that others may share. What is well takes a few seconds. */
export const PATIENCE_MS = 120_000;

/** A world of its own (see `TestOutbox`) with worker processes that die where they are told to. */
export class CrashWorld {
  readonly directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-crash-'));
  private plans = 0;

  private constructor(readonly outbox: TestOutbox) {}

  static async open(settings: Settings): Promise<CrashWorld> {
    const world = new CrashWorld(await TestOutbox.create({ ...SHORTER, ...settings }));
    const names = [...POINTS, ...ELSEWHERE].flatMap(({ name }) => name ?? []);
    world.write('catalog.json', JSON.stringify({ names, writes: WRITES.source }));
    await world.outbox.db.query('CREATE TABLE effects (event_id uuid, attempt integer)');
    return world;
  }

  /** Opens one for `test`, so that tests of a file can run at the same time. */
  static async during(settings: Settings, test: (world: CrashWorld) => Promise<void>): Promise<void> {
    const world = await CrashWorld.open(settings);
    try {
      await test(world);
    } finally {
      await world.close();
    }
  }

  get db() {
    return this.outbox.db;
  }

  /** Variables by which a process can be killed at a point. */
  get preload(): Settings {
    return { CRASH_DIRECTORY: this.directory, NODE_OPTIONS: `--import=${join(__dirname, 'fault.mjs')}` };
  }

  async worker(settings: Settings = {}, awaitReady = true): Promise<WorkerProcess> {
    const worker = await this.outbox.spawnWorker(
      { ...settings, ...this.preload },
      { handlers: join(__dirname, 'handlers.mjs'), awaitReady: false },
    );
    if (awaitReady) await eventually(() => isReady(worker), PATIENCE_MS, 'a ready worker');
    return worker;
  }

  /** From now on the first process that gets there dies. @returns resolves with its death */
  plan(fault: Fault): () => Promise<Death> {
    const id = `${++this.plans}`;
    this.write('plan.json', JSON.stringify({ id, ...fault }));
    return async () => {
      const file = join(this.directory, `killed-${id}.json`);
      const place = `a process that died ${fault.when} ${fault.name}`;
      const text = await eventually(() => existsSync(file) && readFileSync(file, 'utf8'), PATIENCE_MS, place);
      return JSON.parse(String(text)) as Death;
    };
  }

  /** A file that handlers may wait for. */
  write(name: string, text: string): void {
    const file = join(this.directory, name);
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  }

  remove(name: string): void {
    rmSync(join(this.directory, name), { force: true });
  }

  journal(): Line[] {
    return this.lines<Line>('journal');
  }

  /** What was changed, by whatever process, without a point in the catalog. */
  strangers(): Stranger[] {
    return this.lines<Stranger>('strangers');
  }

  /** What the archive of `archive.mjs` was given. */
  archived(): { table: string; row: { event_id: string } }[] {
    return this.lines('archive');
  }

  private lines<T>(name: string): T[] {
    const file = join(this.directory, name);
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as T);
  }

  /** Entries into handlers of one event. */
  entries(eventId: string): Line[] {
    return this.journal().filter((line) => line.kind === 'begin' && line.eventId === eventId);
  }

  /** Handlings of these events that a worker has claimed and whose handlers have not been entered. */
  async unbegun(ids: readonly string[]): Promise<number> {
    const { rows } = await this.db.query<{ key: string }>(
      `SELECT event_id || ' ' || handler AS key FROM :schema.processed_events
        WHERE event_id = ANY ($1::uuid[]) AND status = 'in_progress'`,
      [ids],
    );
    const entered = this.journal().filter(({ kind }) => kind === 'begin');
    const begun = new Set(entered.map(({ eventId, handler }) => `${eventId} ${handler}`));
    return rows.filter(({ key }) => !begun.has(key)).length;
  }

  /** Effects of each event's transactional handler. */
  async effects(): Promise<Map<string, number>> {
    const { rows } = await this.db.query<{ id: string; count: number }>(
      'SELECT event_id::text AS id, count(*)::integer AS count FROM effects GROUP BY 1',
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  }

  /** Messages of the broker that are not through; 0 where there is no broker. */
  async unacknowledged(): Promise<number> {
    const { backend, nats } = this.outbox.config();
    if (backend === 'db') return 0;
    const { num_ack_pending, num_pending } = await this.outbox.manager.consumers.info(nats.stream, nats.durable);
    return num_ack_pending + num_pending;
  }

  async close(): Promise<void> {
    await this.outbox.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function isReady({ child, logs }: WorkerProcess): boolean {
  if (child.exitCode !== null) throw new Error(`the worker exited with ${child.exitCode}: ${logs.join('\n')}`);
  return logs.some((line) => line.includes('The worker is ready'));
}
