import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BareProcess } from '../bareProcess';
import type { Backend } from '../figures';
import type { Rig } from '../rig';
import type { WorkerProcess } from '../worker';
import { writeHandlers } from './writeHandlers';

/** No key on the event: an effect that is there twice must be counted, and not refused. */
const EFFECTS = `
  CREATE TABLE IF NOT EXISTS bench_effects (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    handler text NOT NULL,
    event_id uuid NOT NULL,
    n integer NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`;

/** As `enqueueEvents` would have written them: about 400 bytes each, a thousand aggregates. */
const DUE = `
  INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload)
  SELECT gen_random_uuid(), $2, 'order', (n % 1000)::text,
         jsonb_build_object('n', n, 'note', repeat(md5(n::text), 11), 'paid', true)
    FROM generate_series(1, $1::integer) AS n`;

/**
 * What a ledger holds after some days. On an empty one PostgreSQL plans sequential scans, which are slow before the run is
 * over; no installation truncates its ledger between two backlogs.
 */
const EARLIER = `
  INSERT INTO :schema.processed_events (event_id, handler, status, processed_at)
  SELECT gen_random_uuid(), 'orders', 'done', clock_timestamp() FROM generate_series(1, 100000)`;

const TABLES = ':schema.event_queue, :schema.processed_events, :schema.deliveries, bench_effects';

/** What the parts of the handlers' bench share: the servers of one backend, the table of the effects, and its workers. */
export class Stage {
  private readonly outage: string;

  private readonly handlers;

  private constructor(
    readonly rig: Rig,
    readonly backend: Backend,
  ) {
    this.outage = join(rig.directory, 'payments-fail');
    this.handlers = writeHandlers(rig.directory);
  }

  static async set(rig: Rig, backend: Backend): Promise<Stage> {
    await rig.db.query(EFFECTS);
    return new Stage(rig, backend);
  }

  say(line: string): void {
    this.rig.say(`${this.backend} ${line}`);
  }

  /** With the bench's handlers, and every setting at its default but the backend. */
  worker(settings: NodeJS.ProcessEnv = {}): Promise<WorkerProcess> {
    const { handlers } = this;
    return this.rig.worker({ BENCH_OUTAGE: this.outage, ...handlers, ...settings }, handlers.BENCH_HANDLERS);
  }

  bareLoop(): Promise<BareProcess> {
    return BareProcess.start(this.rig, 'handlers/bareLoop.ts', this.handlers);
  }

  /** While it is on, every payment fails. */
  setOutage(on: boolean): void {
    if (on) writeFileSync(this.outage, '');
    else if (existsSync(this.outage)) rmSync(this.outage);
  }

  /**
   * The same start for every run that is compared: no effects, a ledger of earlier events only, an empty stream, and a
   * table with nothing but `events` pending orders, vacuumed, with statistics, and on disk. The stream is emptied and not made anew, as the
   * worker's durable consumer lives in it.
   */
  async startAfresh(events = 0): Promise<void> {
    const { db, manager, config } = this.rig;
    this.setOutage(false);
    await manager.streams.purge(config.nats.stream).catch(() => undefined);
    await db.query('DROP TRIGGER IF EXISTS bench_tell ON bench_effects');
    await db.query(`TRUNCATE ${TABLES}`);
    await db.query(EARLIER);
    if (events > 0) await this.addDue(events, 'OrderPlaced');
    for (const table of TABLES.split(', ')) await db.query(`VACUUM (ANALYZE) ${table}`);
    await db.query('CHECKPOINT');
  }

  /** Adds due events at once, without waking the relay. */
  async addDue(events: number, type: string): Promise<void> {
    await this.rig.db.query(DUE, [events, type]);
  }

  /** How many events have been written since the start. */
  async enqueued(): Promise<number> {
    const { rows } = await this.rig.db.query<{ events: number }>(
      'SELECT count(*)::integer AS events FROM :schema.event_queue',
    );
    return rows[0]?.events ?? 0;
  }

  /** How many events of a handler have had their effect, and how many effects there are too many. */
  async effects(handler: string): Promise<{ events: number; twice: number }> {
    const { rows } = await this.rig.db.query<{ events: number; twice: number }>(
      `SELECT count(DISTINCT event_id)::integer AS events, (count(*) - count(DISTINCT event_id))::integer AS twice
         FROM bench_effects WHERE handler = $1`,
      [handler],
    );
    return rows[0] ?? { events: 0, twice: 0 };
  }
}
