import { beginAttempt, endAttempt } from '../../src/deliveries/attempt';
import { cloneDatabase, type TestDatabase } from '../support/database';
import { insertDelivery } from '../support/deliveries';

const TIMES = { leaseMs: 30_000, maxLeaseMs: 1_800_000 };

/*
 * Found by `npm run torture -- --seed 21 --minutes 4 --backend db --rate 12`: a worker that was cut off from Temporal, or
 * whose event loop stood still, had been given an attempt. Temporal took it for lost, another worker made it and failed,
 * and 40 s were to pass; then the first came to itself and made one more.
 */
describe('an attempt that comes late', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await cloneDatabase();
  });
  afterAll(() => database.drop());

  const waiting = async (attempts: number) => {
    const at = `clock_timestamp() + interval '40 seconds'`;
    const eventId = await insertDelivery(database.db, { state: 'waiting', attempts, reason: 'no such host', at });
    return { eventId, handler: 'mail' };
  };

  it('is none when another was made in its place: it is told when the next is due, and claims nothing', async () => {
    const { db } = database;
    const key = await waiting(4);
    const beginning = await beginAttempt(db, key, TIMES, 3);
    expect(beginning).toEqual({
      ...{ kind: 'behind', attempts: 4, reason: 'no such host' },
      dueInMs: expect.any(Number) as number,
    });
    expect(beginning.kind === 'behind' && beginning.dueInMs).toBeGreaterThan(30_000);
    const { rows } = await db.query('SELECT FROM :schema.processed_events WHERE event_id = $1', [key.eventId]);
    expect(rows).toEqual([]);
  });

  it('is none either for the run itself, when the answer of its last attempt was lost', async () => {
    const { db } = database;
    const key = await waiting(1);
    const first = await beginAttempt(db, key, TIMES, 1);
    if (first.kind !== 'begun') throw new Error(first.kind);
    const end = { attempts: 2, dueInMs: 10_000, reason: 'refused', dead: false };
    expect(await endAttempt(db, { ...key, ...first }, end)).toBe(true);
    expect(await beginAttempt(db, key, TIMES, 1)).toMatchObject({ kind: 'behind', attempts: 2, reason: 'refused' });
    expect(await beginAttempt(db, key, TIMES, 2)).toMatchObject({ kind: 'begun', attempts: 2 });
  });

  it('begins before its time for whoever knows of all that were made, as an operator may ask for it', async () => {
    expect(await beginAttempt(database.db, await waiting(4), TIMES, 4)).toMatchObject({ kind: 'begun', attempts: 4 });
  });

  it('begins for a run of an older build, which does not say what it knows of', async () => {
    expect(await beginAttempt(database.db, await waiting(4), TIMES)).toMatchObject({ kind: 'begun', attempts: 4 });
  });

  it('waits for a claim that is alive, whatever it knows of', async () => {
    const { db } = database;
    const key = await waiting(2);
    expect(await beginAttempt(db, key, TIMES, 2)).toMatchObject({ kind: 'begun' });
    expect(await beginAttempt(db, key, TIMES, 1)).toMatchObject({ kind: 'held', attempts: 2 });
  });
});
