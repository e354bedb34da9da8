/**
 * An application's process: writes business rows and their events in one transaction, at a steady rate, over a few
 * connections. Some transactions roll back on purpose, some are open for long, and some die with their connection. What it
 * believes of each is written down; what is true, the table `business` says.
 */
import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

const require = createRequire(import.meta.url);
const { enqueueEvents } = require(join(process.env.TORTURE_ROOT, 'dist', 'producer.js'));

const LOOPS = 4;
const PER_TRANSACTION = 2;
const WEIGHTS = { Placed: 60, Flaky: 6, Slow: 8, Chained: 15, Doomed: 1 };

const { name, seed, rate, weights } = JSON.parse(process.env.TORTURE_PLAN);
const types = Object.entries({ ...WEIGHTS, ...weights }).flatMap(([type, weight]) => Array(weight).fill(type));
const random = xoroshiro128plus(seed);
const between = (least, most) => uniformInt(random, least, most);
const now = () => Number(process.hrtime.bigint() / 1_000n) / 1_000;
const file = join(process.env.TORTURE_JOURNAL, `${name}-${process.pid}`);
const note = (kind, ids) => appendFileSync(file, `${JSON.stringify({ kind, ids, at: now() })}\n`);

let stopping = false;
process.on('SIGTERM', () => (stopping = true));

function event() {
  const type = types[between(0, types.length - 1)];
  const n = between(0, 9_999);
  return { type, aggregateType: 'thing', aggregateId: `a${between(1, 60)}`, payload: { n } };
}

async function transaction(client) {
  const events = Array.from({ length: between(1, 2 * PER_TRANSACTION - 1) }, event);
  await client.query('BEGIN');
  const ids = await enqueueEvents(client, events, { schema: process.env.OUTBOX_SCHEMA });
  for (const [index, id] of ids.entries())
    await client.query('INSERT INTO public.business (event_id, type, producer) VALUES ($1, $2, $3)', [
      ...[id, events[index].type, name],
    ]);
  const fate = between(1, 100);
  // Commits late: others with higher ids are claimed before.
  if (fate <= 8) await sleep(between(200, 1_500));
  if (fate > 90) {
    note('rolled back', ids);
    if (fate > 96) client.connection.stream.destroy();
    await client.query('ROLLBACK');
    return;
  }
  try {
    await client.query('COMMIT');
  } catch (error) {
    // The answer may have been lost, and the commit not.
    note('unknown', ids);
    throw error;
  }
  note('acknowledged', ids);
}

async function loop() {
  const everyMs = (1_000 * LOOPS * PER_TRANSACTION) / rate;
  while (!stopping) {
    const client = new pg.Client({ connectionString: process.env.DATABASE_URL, connectionTimeoutMillis: 3_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      while (!stopping) {
        await transaction(client);
        await sleep(between(everyMs / 2, (everyMs * 3) / 2));
      }
    } catch {
      await sleep(200);
    } finally {
      // An end that nobody answers is not waited for.
      await Promise.race([client.end().catch(() => undefined), sleep(500)]);
    }
  }
}

process.stderr.write('The producer is ready\n');
await Promise.all(Array.from({ length: LOOPS }, loop));
process.exit();
