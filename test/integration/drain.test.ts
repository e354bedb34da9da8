import { Pool } from 'pg';
import { ExhaustedError, PublishError } from '../../src/errors';
import type { ClaimedEvent } from '../../src/event';
import { claimDue } from '../../src/outbox/claim';
import { drainAll, drainOnce, type DrainOptions } from '../../src/outbox/drain';
import { bumpFence, takeOver } from '../../src/outbox/fence';
import { cloneDatabase, type TestDatabase } from '../support/database';
import { enqueue, event, events } from '../support/events';

const LIMITS = { rows: 100, bytes: 1_000_000 };

let database: TestDatabase;

beforeEach(async () => {
  database = await cloneDatabase(2);
});

afterEach(async () => {
  await database.drop();
});

/** A drain of the test's schema that records what it published and warned of. */
function recorder(publish: (event: ClaimedEvent) => void | Promise<void> = () => undefined) {
  const published: string[] = [];
  const warnings: { message: string; reason: string }[] = [];
  const options: DrainOptions = {
    schema: database.schema,
    publish: async (given) => {
      await publish(given);
      published.push(given.eventId);
    },
    warn: (message, { reason }) => warnings.push({ message, reason }),
  };
  return { options, published, warnings };
}

interface Row {
  status: string;
  attempts: number;
  deferrals: number;
  claim_token: string | null;
  failure_reason: string | null;
}

async function rowOf(id: string | undefined): Promise<Row> {
  const { rows } = await database.db.query<Row>(`SELECT * FROM :schema.event_queue WHERE event_id = $1`, [id]);
  if (!rows[0]) throw new Error(`no row has the event id ${id}`);
  return rows[0];
}

async function statuses(ids: string[]): Promise<string[]> {
  return Promise.all(ids.map(async (id) => (await rowOf(id)).status));
}

describe('drainOnce', () => {
  test('publishes what is due in its order, and leaves what is due later', async () => {
    const ids = await enqueue(database.db, events(3));
    const [later] = await enqueue(database.db, [event({ availableAt: new Date(Date.now() + 3_600_000) })]);
    const { options, published, warnings } = recorder();
    expect(await drainOnce(database.db.pool, options)).toEqual({ published: 3, leftPending: 0, dead: 0, lost: 0 });
    expect(published).toEqual(ids);
    expect(await statuses(ids)).toEqual(['done', 'done', 'done']);
    expect((await rowOf(later)).status).toBe('pending');
    expect(warnings).toEqual([]);
  });

  test('takes at most `limit` rows in a pass', async () => {
    await enqueue(database.db, events(5));
    const { options } = recorder();
    expect((await drainOnce(database.db.pool, { ...options, limit: 2 })).published).toBe(2);
  });

  test('a PublishError leaves its row pending with nothing spent; the others go out', async () => {
    const ids = await enqueue(database.db, events(3));
    const { options, published, warnings } = recorder(({ eventId }) => {
      if (eventId === ids[1]) throw new PublishError('the stream is full');
    });
    expect(await drainOnce(database.db.pool, options)).toEqual({ published: 2, leftPending: 1, dead: 0, lost: 0 });
    expect(published).toEqual([ids[0], ids[2]]);
    expect(await rowOf(ids[1])).toMatchObject({ status: 'pending', attempts: 0, deferrals: 0, claim_token: null });
    expect(warnings).toEqual([
      { message: 'outbox drain: 1 of 3 events were not published', reason: 'the stream is full' },
    ]);
  });

  test('an ExhaustedError makes its row a dead letter with the reason, even one that PostgreSQL would refuse', async () => {
    const ids = await enqueue(database.db, events(2));
    const { options, warnings } = recorder(({ eventId }) => {
      if (eventId === ids[0]) throw new ExhaustedError('too large\u0000 by far \ud800');
    });
    expect(await drainOnce(database.db.pool, options)).toEqual({ published: 1, leftPending: 0, dead: 1, lost: 0 });
    expect(await rowOf(ids[0])).toMatchObject({ status: 'dead_lettered', failure_reason: 'too large  by far \ufffd' });
    expect(warnings).toHaveLength(1);
  });

  test('any other error stops the pass: what went out is done, the rest is free, and the error is thrown', async () => {
    const ids = await enqueue(database.db, events(4));
    const boom = new TypeError('boom');
    const { options, warnings } = recorder(({ eventId }) => {
      if (eventId === ids[1]) throw new PublishError('not now');
      if (eventId === ids[2]) throw boom;
    });
    await expect(drainOnce(database.db.pool, options)).rejects.toBe(boom);
    expect(await statuses(ids)).toEqual(['done', 'pending', 'pending', 'pending']);
    expect((await rowOf(ids[3])).claim_token).toBeNull();
    expect(warnings.map(({ reason }) => reason)).toEqual(['not now']);
  });

  test('holds no connection while it publishes, so a pool of one is enough', async () => {
    await enqueue(database.db, events(3));
    const pool = new Pool({ connectionString: database.url, max: 1, connectionTimeoutMillis: 30_000 });
    // The database is dropped when the connection may just be closing: its last word is then an error.
    pool.on('error', () => undefined);
    try {
      const { options } = recorder(async () => {
        const { rows } = await pool.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
        );
        expect(rows).toEqual([]);
      });
      expect((await drainOnce(pool, options)).published).toBe(3);
    } finally {
      await pool.end();
    }
  });

  test("leaves a running relay's rows and its fence alone, and the relay leaves the drain's", async () => {
    const { db } = database;
    const [first] = await enqueue(db, events(1));
    const token = await bumpFence(db);
    await claimDue(db, token, LIMITS);
    const ids = await enqueue(db, events(2));
    const { options, published } = recorder(async () => {
      // A newer claim of the relay, which takes over whatever older claims left.
      expect(await takeOver(db, await bumpFence(db), [token])).toBe(0);
    });
    await drainOnce(db.pool, options);
    expect(published).toEqual(ids);
    expect(await rowOf(first)).toMatchObject({ status: 'processing', claim_token: token });
    expect(await bumpFence(db)).toBe(String(Number(token) + ids.length + 1));
  });

  test('rows of a drain that died wait for the lease, and are then published under the same ids', async () => {
    const { db } = database;
    const ids = await enqueue(db, events(2));
    await claimDue(db, '-42', LIMITS);
    const { options, published } = recorder();
    await drainOnce(db.pool, options);
    expect(published).toEqual([]);
    await db.query(`UPDATE :schema.event_queue SET claimed_at = claimed_at - interval '601 seconds'`);
    await drainOnce(db.pool, options);
    expect(published).toEqual(ids);
  });

  test('a row that another claim took over meanwhile is reported as lost, and not written', async () => {
    const { db } = database;
    const ids = await enqueue(db, events(2));
    const { options, warnings } = recorder(async ({ eventId }) => {
      if (eventId === ids[0]) {
        await db.query(`UPDATE :schema.event_queue SET claim_token = 7 WHERE event_id = $1`, [eventId]);
      }
    });
    expect(await drainOnce(db.pool, options)).toEqual({ published: 1, leftPending: 0, dead: 0, lost: 1 });
    expect(await rowOf(ids[0])).toMatchObject({ status: 'processing', claim_token: '7' });
    expect(warnings[0]?.reason).toMatch(/lease was over/);
  });

  test('gives a row of a foreign writer its one event id', async () => {
    const { db } = database;
    await db.query(
      `INSERT INTO :schema.event_queue (event_type, aggregate_type, aggregate_id, payload) VALUES ('T', 'a', '1', '{}')`,
    );
    const { options, published } = recorder();
    await drainOnce(db.pool, options);
    expect(published[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect((await rowOf(published[0])).status).toBe('done');
  });

  test.each([0, -1, 1.5, NaN])('refuses a limit of %p before any SQL', async (limit) => {
    const { options } = recorder();
    await expect(drainOnce(database.db.pool, { ...options, limit })).rejects.toThrow(/limit must be a whole number/);
  });

  test('several drains at once publish every event exactly once', async () => {
    const ids = await enqueue(database.db, events(200));
    const { options, published } = recorder();
    await Promise.all(Array.from({ length: 4 }, () => drainAll(database.db.pool, { ...options, limit: 20 })));
    expect(published.sort()).toEqual([...ids].sort());
  });
});

describe('drainAll', () => {
  test('passes until nothing is left, and returns totals', async () => {
    const ids = await enqueue(database.db, events(5));
    const { options } = recorder(({ eventId }) => {
      if (eventId === ids[3]) throw new ExhaustedError('never');
    });
    expect(await drainAll(database.db.pool, { ...options, limit: 2 })).toEqual({
      ...{ published: 4, leftPending: 0, dead: 1, lost: 0 },
      ...{ passes: 4, moreDue: false },
    });
  });

  test('ends when a pass gets nothing out, instead of trying for ever', async () => {
    await enqueue(database.db, events(3));
    const { options, warnings } = recorder(() => {
      throw new PublishError('away');
    });
    expect(await drainAll(database.db.pool, options)).toEqual({
      ...{ published: 0, leftPending: 3, dead: 0, lost: 0 },
      ...{ passes: 1, moreDue: true },
    });
    expect(warnings).toHaveLength(1);
  });

  test('ends at maxPasses when each publish enqueues another event', async () => {
    const { db } = database;
    await enqueue(db, events(1));
    const { options } = recorder(async () => {
      await enqueue(db, events(1));
    });
    expect(await drainAll(db.pool, { ...options, maxPasses: 3 })).toMatchObject({
      ...{ published: 3, leftPending: 0, passes: 3, moreDue: true },
    });
  });

  test.each([
    ['is still due', 5, true],
    ['was due', 4, false],
  ])('at maxPasses it says whether something %s; what is due later does not count', async (_, count, moreDue) => {
    await enqueue(database.db, events(count));
    await enqueue(database.db, [event({ availableAt: new Date(Date.now() + 3_600_000) })]);
    const { options } = recorder();
    expect(await drainAll(database.db.pool, { ...options, limit: 2, maxPasses: 2 })).toEqual({
      ...{ published: 4, leftPending: 0, dead: 0, lost: 0 },
      ...{ passes: 2, moreDue },
    });
  });

  test('told to stop, it publishes nothing more, and what it had claimed is free at once', async () => {
    const ids = await enqueue(database.db, events(5));
    const stop = new AbortController();
    const { options, published, warnings } = recorder(({ eventId }) => {
      if (eventId === ids[2]) stop.abort();
    });
    expect(await drainAll(database.db.pool, { ...options, limit: 4, signal: stop.signal })).toEqual({
      ...{ published: 3, leftPending: 1, dead: 0, lost: 0 },
      ...{ passes: 1, moreDue: true },
    });
    expect(published).toEqual(ids.slice(0, 3));
    expect(await statuses(ids)).toEqual(['done', 'done', 'done', 'pending', 'pending']);
    expect(warnings).toEqual([]);
    expect(await drainAll(database.db.pool, { ...options, signal: stop.signal })).toEqual({
      ...{ published: 0, leftPending: 0, dead: 0, lost: 0 },
      ...{ passes: 0, moreDue: true },
    });
  });
});
