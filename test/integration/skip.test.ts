import { randomUUID } from 'node:crypto';
import { forgetHandler } from '../../src/deliveries/forgetHandler';
import { settleRow } from '../../src/deliveries/settleRow';
import { skipDelivery } from '../../src/deliveries/skip';
import type { Database } from '../../src/postgres/database';
import { cloneDatabase, ownerOf, type TestDatabase } from '../support/database';
import { deliveryOf, insertDelivery, insertLedger, ledgerOf, recordHandlers, setStatus } from '../support/deliveries';
import { enqueue, event } from '../support/events';
import '../support/printedRoles';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await cloneDatabase();
  ({ db } = database);
});
afterAll(() => database.drop());
beforeEach(() => ownerOf(db).query('TRUNCATE :schema.event_queue, :schema.deliveries, :schema.processed_events'));

const statusOf = async (eventId: string) => {
  const { rows } = await db.query<{ status: string }>(`SELECT status FROM :schema.event_queue WHERE event_id = $1`, [
    eventId,
  ]);
  return rows[0]?.status;
};

describe('skipDelivery', () => {
  it.each(['waiting', 'dead'] as const)('gives a delivery up that is %s: the ledger says done, the reason stays', async (state) => {
    const [id = ''] = await enqueue(db, [event()]);
    await insertDelivery(db, { eventId: id, state });
    await setStatus(db, id, state === 'dead' ? 'dead_lettered' : 'retrying');
    expect(await skipDelivery(db, id, 'mail', 'wrong address')).toBe('skipped');
    expect(await deliveryOf(db, id)).toMatchObject({ state: 'skipped', reason: 'wrong address', failed_at: null, due: null });
    expect(await ledgerOf(db, id)).toBe('done');
    await settleRow(db, [id]);
    expect(await statusOf(id)).toBe('done');
    expect(await skipDelivery(db, id, 'mail', 'again')).toBe('already handled');
    expect(await deliveryOf(db, id)).toMatchObject({ reason: 'wrong address' });
  }); // prettier-ignore

  it('leaves a row dead while another of its handlers is', async () => {
    const [id = ''] = await enqueue(db, [event()]);
    await insertDelivery(db, { eventId: id });
    await insertDelivery(db, { eventId: id, handler: 'bill' });
    await setStatus(db, id, 'dead_lettered');
    await skipDelivery(db, id, 'mail', 'r');
    await settleRow(db, [id]);
    expect(await statusOf(id)).toBe('dead_lettered');
    expect(await deliveryOf(db, id, 'bill')).toMatchObject({ state: 'dead' });
  });

  it('leaves the row alone of an event that the relay gave up', async () => {
    const [id = ''] = await enqueue(db, [event()]);
    await setStatus(db, id, 'dead_lettered');
    expect(await skipDelivery(db, id, 'mail', 'r')).toBe('skipped');
    await settleRow(db, [id]);
    expect(await statusOf(id)).toBe('dead_lettered');
  });

  it('keeps a handler from an event that has not reached it yet', async () => {
    const [id = ''] = await enqueue(db, [event()]);
    expect(await skipDelivery(db, id, 'mail', 'not wanted')).toBe('skipped');
    expect(await deliveryOf(db, id)).toMatchObject({ state: 'skipped', reason: 'not wanted', source: 'outbox' });
    expect(await ledgerOf(db, id)).toBe('done');
    expect(await statusOf(id)).toBe('pending');
  });

  it('skips an event that stands in no outbox', async () => {
    const id = await insertDelivery(db, { foreign: true });
    expect(await skipDelivery(db, id, 'mail', 'r')).toBe('skipped');
    expect(await deliveryOf(db, id)).toMatchObject({ state: 'skipped', source: 'EVENTS/7' });
  });

  it('changes nothing while the handler is at work on it', async () => {
    const id = await insertDelivery(db, { state: 'waiting' });
    await insertLedger(db, id, 'mail', `clock_timestamp() + interval '30 seconds'`);
    expect(await skipDelivery(db, id, 'mail', 'r')).toBe('running');
    expect(await deliveryOf(db, id)).toMatchObject({ state: 'waiting' });
    const withoutLease = await insertDelivery(db);
    await insertLedger(db, withoutLease, 'mail', 'NULL');
    expect(await skipDelivery(db, withoutLease, 'mail', 'r')).toBe('running');
    expect(await skipDelivery(db, withoutLease, 'mail', 'r', { maxLeaseMs: 0 })).toBe('skipped');
  });

  it('takes the claim of a lost worker over, which cannot finish what was skipped', async () => {
    const id = await insertDelivery(db, { state: 'waiting' });
    await insertLedger(db, id, 'mail', `clock_timestamp() - interval '1 second'`);
    await db.query(`UPDATE :schema.processed_events SET started_at = started_at - interval '1 minute'`);
    const token = async () =>
      (await db.query<{ token: string }>(`SELECT started_at::text AS token FROM :schema.processed_events`)).rows[0]?.token;
    const before = await token();
    expect(await skipDelivery(db, id, 'mail', 'r')).toBe('skipped');
    expect(await ledgerOf(db, id)).toBe('done');
    expect(await token()).not.toBe(before);
  }); // prettier-ignore

  it('says of what is not known that it is not', async () => {
    expect(await skipDelivery(db, randomUUID(), 'mail', 'r')).toBe('unknown');
    expect(await skipDelivery(db, 'no id', 'mail', 'r')).toBe('unknown');
  });

  it('keeps a reason that PostgreSQL can store, and asks for one', async () => {
    const id = await insertDelivery(db);
    await expect(skipDelivery(db, id, 'mail', ' ')).rejects.toThrow(/say why mail is skipped/);
    expect(await skipDelivery(db, id, 'mail', `\0${'é😀'.repeat(2_000)}`)).toBe('skipped');
    const { reason } = (await deliveryOf(db, id)) as { reason: string };
    expect(reason.length).toBeLessThanOrEqual(2_000);
    expect(reason).toMatch(/^ é😀/);
  });
});

describe('forgetHandler', () => {
  it('takes the handler out of the recorded set and skips what waits for it, so that events are finished without it', async () => {
    await recordHandlers(db, { mail: ['ThingHappened'], bill: ['ThingHappened'] });
    const recorded = async () =>
      (
        await db.query<{ handlers: string[]; events: object; revision: string }>(
          `SELECT handlers, handler_events AS events, handlers_revision::text AS revision FROM :schema.outbox_installation`,
        )
      ).rows[0]!;
    const { revision } = await recorded();
    const [id = ''] = await enqueue(db, [event()]);
    await insertDelivery(db, { eventId: id, state: 'waiting' });
    await setStatus(db, id, 'retrying');
    const other = await insertDelivery(db, { handler: 'bill', state: 'waiting' });
    const dead = await insertDelivery(db);

    const forgotten = await forgetHandler(db, 'mail');
    expect(forgotten).toEqual({ removed: true, skipped: 1, dead: 1, eventIds: [id] });
    await settleRow(db, forgotten.eventIds);
    expect(await statusOf(id)).toBe('done');
    expect(await deliveryOf(db, id)).toMatchObject({ state: 'skipped', reason: 'the handler was removed' });
    expect(await deliveryOf(db, other, 'bill')).toMatchObject({ state: 'waiting' });
    expect(await deliveryOf(db, dead)).toMatchObject({ state: 'dead' });
    expect(await recorded()).toEqual({
      handlers: ['bill'],
      events: { bill: ['ThingHappened'] },
      revision: `${Number(revision) + 1}`,
    });
    expect(await forgetHandler(db, 'mail')).toEqual({ removed: false, skipped: 0, dead: 1, eventIds: [] });
  });

  it('skips any number of deliveries', async () => {
    await db.query(
      `INSERT INTO :schema.deliveries (event_id, handler, next_at, source, event_type, aggregate_type, aggregate_id)
       SELECT gen_random_uuid(), 'mail', now(), 'outbox', 'T', 't', 'a' FROM generate_series(1, 5001)`,
    );
    const { skipped, eventIds } = await forgetHandler(db, 'mail');
    expect({ skipped, ids: new Set(eventIds).size }).toEqual({ skipped: 5_001, ids: 5_001 });
  });
});
