import { setTimeout as sleep } from 'node:timers/promises';
import type { NewEvent } from '../../src/event';
import { sendSteadily } from '../steady';
import type { Stage } from './stage';

export interface Flow {
  /** Of the sample, in milliseconds: see `flow`. */
  readonly latencies: readonly number[];
  readonly sent: number;
  /** Effects a second while the events were being sent. */
  readonly perSecond: number;
  /** How far the sender was behind its schedule, at most. */
  readonly latestStartMs: number;
}

export interface FlowOptions {
  readonly rate: number;
  /** One event in so many is timed. */
  readonly sample: number;
  /** The order of each number; none ends the flow. */
  readonly order: (n: number) => NewEvent | undefined;
  /** Which are timed, of the sample; those that are to fail are not. */
  readonly isHealthy?: (n: number) => boolean;
}

const TELL = (sample: number) => `
  CREATE OR REPLACE FUNCTION bench_tell() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_notify('bench_effects', NEW.event_id::text); RETURN NULL; END $$;
  CREATE OR REPLACE TRIGGER bench_tell AFTER INSERT ON bench_effects FOR EACH ROW
    WHEN (NEW.handler = 'orders' AND NEW.n % ${sample} = 0) EXECUTE FUNCTION bench_tell();`;

const ARRIVES_WITHIN_MS = 300_000;

/**
 * Orders at a steady rate, one commit each. A latency begins just after the producer's COMMIT returned and ends when this
 * process hears that the effect is there: a trigger of the bench notifies, and PostgreSQL sends a notification only after
 * its transaction has become visible to others. So the effect's own commit, with its `fsync`, is in it, and so is the way
 * of the notification to us; both times are of this process's clock. A time that the handler's insert writes would leave
 * the commit out, and so would PostgreSQL's commit time stamps, which are taken before the flush. Commits that notify run
 * one after the other, which slows effects down a little: hence the sample at high rates.
 */
export async function flow(stage: Stage, options: FlowOptions): Promise<Flow> {
  const { rate, sample, order, isHealthy = () => true } = options;
  const { db } = stage.rig;
  await db.query(TELL(sample));
  const heard = new Map<string, number>();
  const listening = stage.rig.database(1);
  const listener = await listening.pool.connect();
  listener.on('notification', ({ payload }) => {
    const now = performance.now();
    if (payload && !heard.has(payload)) heard.set(payload, now);
  });
  try {
    await listener.query('LISTEN bench_effects');
    const begun = await databaseTime();
    const { commits, latestStartMs } = await sendSteadily(stage.rig, rate, order);
    const perSecond = await effectsPerSecond(begun, await databaseTime());
    const timed = commits.filter((_, n) => n % sample === 0 && isHealthy(n));
    const end = performance.now() + ARRIVES_WITHIN_MS;
    while (!timed.every(({ id }) => heard.has(id)) && performance.now() < end) await sleep(20);
    const latencies = timed.map(({ id, at }) => (heard.get(id) ?? NaN) - at);
    const missing = latencies.filter(Number.isNaN).length;
    if (missing > 0) throw new Error(`${missing} of ${timed.length} effects were not there in ${ARRIVES_WITHIN_MS} ms`);
    return { latencies, sent: commits.length, perSecond, latestStartMs };
  } finally {
    listener.release(true);
    await listening.close();
  }

  async function databaseTime(): Promise<string> {
    return (await db.query<{ now: string }>('SELECT clock_timestamp()::text AS now')).rows[0]?.now ?? '';
  }

  async function effectsPerSecond(from: string, to: string): Promise<number> {
    const { rows } = await db.query<{ rate: number }>(
      `SELECT (count(*) / extract(epoch FROM $2::timestamptz - $1::timestamptz))::float8 AS rate
         FROM bench_effects WHERE handler = 'orders' AND at BETWEEN $1 AND $2`,
      [from, to],
    );
    return rows[0]?.rate ?? NaN;
  }
}
