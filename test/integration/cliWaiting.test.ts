import { deliveryOf, insertDelivery, insertLedger, recordHandlers } from '../support/deliveries';
import { cloneDatabase, ownerOf, type TestDatabase } from '../support/database';
import { enqueue, event, events } from '../support/events';
import '../support/printedRoles';
import { runCli } from '../support/runCli';

/* PostgreSQL alone: whoever asks what is stuck must be answered when nothing else is there. */

let database: TestDatabase;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());
beforeEach(() =>
  ownerOf(database.db).query('TRUNCATE :schema.event_queue, :schema.deliveries, :schema.processed_events'),
);

const cli = (...args: string[]) =>
  runCli(args, { DATABASE_URL: database.url, OUTBOX_SCHEMA: database.schema, EVENT_BUS_BACKEND: 'db' });
const set = (id: string | undefined, columns: string) =>
  database.db.query(`UPDATE :schema.event_queue SET ${columns} WHERE event_id = $1`, [id]);

describe('waiting', () => {
  test('lists what is stuck with its reason, the longest overdue first, and nothing that is scheduled, done or dead', async () => {
    const [due, deferred, claimed, done, dead] = await enqueue(database.db, events(5));
    await enqueue(database.db, [event({ availableAt: new Date(Date.now() + 3_600_000) })]);
    await set(due, `available_at = clock_timestamp() - interval '2 hours'`);
    await set(deferred, `status = 'deferred', deferrals = 3, failure_reason = 'the stream is full', retry_at = clock_timestamp() + interval '4 minutes'`); // prettier-ignore
    await set(claimed, `status = 'processing', claim_token = 1, claimed_at = clock_timestamp() - interval '1 minute'`);
    await set(done, `status = 'done', published_at = clock_timestamp()`);
    await set(dead, `status = 'dead_lettered', failed_at = clock_timestamp()`);
    const mail = await insertDelivery(database.db, {
      state: 'waiting',
      at: `clock_timestamp() + interval '9 minutes'`,
    });
    await insertDelivery(database.db, { state: 'dead' });

    const all = JSON.parse((await cli('waiting', '--json')).stdout) as { eventId: string }[];
    expect(all).toMatchObject([
      { eventId: due, state: 'pending', handler: null, reason: null },
      { eventId: claimed, state: 'processing' },
      { eventId: deferred, state: 'deferred', tries: 3, reason: 'the stream is full' },
      { eventId: mail, state: 'waiting', handler: 'mail', tries: 3, reason: 'no such host' },
    ]);
    const { stdout } = await cli('waiting');
    expect(stdout).toMatch(/^NEXT TRY +EVENT ID +TYPE +AGGREGATE +HANDLER +STATE +TRIES +REASON\n2 h overdue /);
    expect(stdout).toMatch(/\nin \d+ min[^\n]* mail +waiting +3 +no such host\n/);
  });

  test('narrows by state, handler and aggregate, and says when there are more', async () => {
    await enqueue(
      database.db,
      events(3, (index) => ({ aggregateId: `a${index}` })),
    );
    await insertDelivery(database.db, { state: 'waiting' });
    const few = await cli('waiting', '--state', 'pending', '--limit', '2', '--json');
    expect(JSON.parse(few.stdout)).toHaveLength(2);
    expect(few.stderr).toMatch(/there are more/);
    expect(JSON.parse((await cli('waiting', '--aggregate', 'a1', '--json')).stdout)).toHaveLength(1);
    expect(JSON.parse((await cli('waiting', '--handler', 'mail', '--json')).stdout)).toMatchObject([
      { handler: 'mail' },
    ]);
    expect(await cli('waiting', '--type', 'Other')).toMatchObject({ code: 0, stdout: 'Nothing waits.\n' });
    expect((await cli('waiting', '--state', 'nosuch')).code).toBe(2);
  });

  test.each(['waiting', 'dead list', 'reemit --all'])(
    '%s by a handler that nobody knows says so: a misspelled name is no good news',
    async (verb) => {
      await insertDelivery(database.db, { state: 'waiting', handler: 'mail' });
      const { code, stderr } = await cli(...verb.split(' '), '--handler', 'mial');
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(/No handler mial is known here\. Known are: mail\.\n$/) as string,
      });
      expect((await cli(...verb.split(' '), '--handler', 'mail')).stderr).not.toMatch(/is known here/);
    },
  );
});

describe('reconcile --mend', () => {
  test('has what is unhandled handled, and leaves alone what has been begun or done', async () => {
    const { db } = database;
    await recordHandlers(db, { mail: ['ThingHappened'] });
    const [lost = '', done = '', begun = ''] = await enqueue(db, events(3));
    for (const id of [lost, done, begun]) await set(id, `status = 'done', published_at = clock_timestamp()`);
    await insertLedger(db, done, 'mail', 'done');
    await insertLedger(db, begun, 'mail', `clock_timestamp() + interval '1 minute'`);

    const only = await cli('reconcile', '--json');
    expect(only.code).toBe(1);
    expect(JSON.parse(only.stdout)).toMatchObject({ unhandled: { count: 1, shown: [{ eventId: lost }] } });
    expect(await deliveryOf(db, lost)).toBeUndefined();

    const mended = await cli('reconcile', '--mend', '--json');
    expect(JSON.parse(mended.stdout)).toMatchObject({ mended: 1 });
    expect(await deliveryOf(db, lost)).toMatchObject({ state: 'waiting', attempts: 0, due: true, touched: '-infinity', source: 'outbox' }); // prettier-ignore
    for (const id of [done, begun]) expect(await deliveryOf(db, id)).toBeUndefined();
    expect((await cli('reconcile')).code).toBe(3);
  });
});
