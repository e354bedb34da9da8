import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figures } from './figures';
import { startAfresh } from './fill';
import type { Rig } from './rig';
import { sendTraffic } from './traffic';

/** The worker has just started, and counts as idle when its first long poll is under way. */
const SETTLE_MS = 10_000;
/** Stands before each line that PostgreSQL writes, so that its statements can be told by who sent them. */
const PREFIX = 'bench-sql|%a|';
/** One line for each statement of the worker's pool and of its listener; a statement's further lines have no prefix. */
const STATEMENT = /^bench-sql\|temporal-outbox( listen)?\|\s*LOG:\s+(statement|execute)/;

/** What a relay costs that has nothing to do, and what one event a second costs. */
export async function idle(rig: Rig): Promise<Figures> {
  const { relay, say, db } = rig;
  const minutes = rig.quick ? 1 : 2;
  await startAfresh(rig);
  const worker = await rig.worker();
  await sleep(SETTLE_MS);

  const log = join(rig.directory, 'logs', 'postgres.log');
  await configure(`ALTER SYSTEM SET log_line_prefix = '${PREFIX}'`, `ALTER SYSTEM SET log_statement = 'all'`);
  const from = statSync(log).size;
  const before = await relay.actions();
  const since = new Date();
  say(`idle: watching for ${minutes} min`);
  await sleep(minutes * 60_000);
  const counted = await relay.historySince(since);
  const after = await relay.actions();
  await configure('ALTER SYSTEM RESET log_statement', 'ALTER SYSTEM RESET log_line_prefix');
  const written = readFileSync(log).subarray(from).toString('utf8').split('\n');

  say('idle: 1 event a second for 1 min');
  await sendTraffic(rig, 1, 60);
  const slow = (await relay.actions()).all - after.all;
  await worker.stop();
  return {
    idle: {
      activitiesPerMinute: counted.activities / minutes,
      sqlPerMinute: written.filter((line) => STATEMENT.test(line)).length / minutes,
      historyEventsPerMinute: counted.events / minutes,
      actionsPerMinute: (after.all - before.all) / minutes,
      heartbeatsPerMinute: (after.heartbeats - before.heartbeats) / minutes,
    },
    temporal: { actionsPerMinuteAt1PerSecond: slow },
  };

  async function configure(...statements: string[]): Promise<void> {
    // One by one: ALTER SYSTEM refuses to run with another statement in one message.
    for (const statement of [...statements, 'SELECT pg_reload_conf()']) await db.query(statement);
    await sleep(200);
  }
}
