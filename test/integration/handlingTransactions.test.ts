import { defineEvent } from '../../src/handlers/defineEvent';
import { defineHandler, type Transaction } from '../../src/handlers/defineHandler';
import { enqueueEvents } from '../../src/outbox/enqueue';
import { attemptOf, standAlone } from '../support/attempts';
import { deliveryOf, insertDelivery, ledgerOf } from '../support/deliveries';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, countDone, deliveryRows, unfinished } from '../support/handled';
import { TestOutbox } from '../support/outbox';

const Thing = defineEvent<'ThingHappened', { n: number }>('ThingHappened');
const PATIENT = { OUTBOX_BACKOFF_FIRST_MS: '3600000', OUTBOX_BACKOFF_MAX_MS: '3600000' };

let outbox: TestOutbox;
const effects = async () =>
  (await outbox.db.query<{ n: number }>('SELECT n FROM effects ORDER BY n')).rows.map(({ n }) => n);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);
const transactional = (run: (n: number, tx: Transaction) => unknown, timeoutMs = 60_000) =>
  defineHandler({
    name: 'store',
    events: [Thing],
    transactional: true,
    timeoutMs,
    run: ({ payload }, { tx }) => run(payload.n, tx),
  });
const insert = (tx: Transaction, n: number) => tx.query('INSERT INTO effects VALUES ($1)', [n]);

async function open(backend = 'db', more: Record<string, string> = {}) {
  outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, ...PATIENT, ...more });
  await outbox.db.query('CREATE TABLE groups (id integer PRIMARY KEY)');
  await outbox.db.query('CREATE TABLE effects (n integer, of integer REFERENCES groups DEFERRABLE INITIALLY DEFERRED)');
}
afterEach(() => outbox.close());

describe.each(['db', 'nats'])('transactional handlers, backend %s', (backend) => {
  it.each<[string, (n: number, tx: Transaction) => unknown]>([
    ['throws', (n, tx) => (n === 7 ? Promise.reject(new Error('no seven')) : insert(tx, n))],
    ['writes and then throws', (n, tx) => insert(tx, n).then(() => n === 7 && Promise.reject(new Error('no seven')))],
    ['breaks its transaction by a statement', (n, tx) => (n === 7 ? tx.query('SELECT 1/0') : insert(tx, n))],
    [
      'breaks its transaction and says nothing of it',
      (n, tx) => (n === 7 ? tx.query('SELECT 1/0').catch(() => undefined) : insert(tx, n)),
    ],
    [
      'breaks a constraint that is looked at when it commits',
      (n, tx) => tx.query('INSERT INTO effects VALUES ($1, $2)', [n, n === 7 ? 7 : null]),
    ],
    ['commits by itself', (n, tx) => insert(tx, n).then(() => (n === 7 ? tx.query('COMMIT') : null))],
    [
      'ends it behind another statement',
      (n, tx) => insert(tx, n).then(() => (n === 7 ? tx.query('SELECT 1; ROLLBACK') : null)),
    ],
    ['ends its transaction by hand', (n, tx) => insert(tx, n).then(() => (n === 7 ? tx.query(' ; Rollback') : null))],
  ])('one event whose handler %s costs its own effect only, among twenty of a batch', async (_, run) => {
    await open(backend);
    await enqueue(
      outbox.db,
      events(20, (n) => ({ aggregateId: `a${n % 3}` })),
    );
    const { logs } = await outbox.startWorker({}, { handlers: [transactional(run)] });
    await allHandled(outbox.db, 'store', 19);
    await eventually(async () => (await deliveryRows(outbox.db)).length === 1);
    expect(await effects()).toEqual(upTo(20).filter((n) => n !== 7));
    const [row] = await deliveryRows(outbox.db);
    expect(row).toMatchObject({ state: 'waiting', attempts: 1 });
    expect(row!.failure_reason).toMatch(/no seven|division|SQLSTATE 2|aborted|do not begin, commit/);
    expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: 1 });
    expect(logs.filter(({ level }) => (level as number) >= 40)).toEqual([]);
  });

  it('commit follow-up events with the effect, or none of both', async () => {
    await open(backend);
    const { schema } = outbox.db;
    const followUp = (n: number) => ({ type: 'Followed', aggregateType: 'thing', aggregateId: 'f', payload: { n } });
    const store = transactional(async (n, tx) => {
      await insert(tx, n);
      await enqueueEvents(tx, [followUp(n)], { schema });
      if (n % 4 === 3) throw new Error('a fourth');
    });
    const followed: number[] = [];
    const after = defineHandler({
      name: 'after',
      events: ['Followed'],
      run: ({ payload }) => void followed.push((payload as { n: number }).n),
    });
    await outbox.startWorker({}, { handlers: [store, after] });
    await enqueue(
      outbox.db,
      events(40, (n) => ({ aggregateId: `a${n}` })),
    );
    await allHandled(outbox.db, 'after', 30);
    const kept = upTo(40).filter((n) => n % 4 !== 3);
    expect(await effects()).toEqual(kept);
    expect(followed.sort((a, b) => a - b)).toEqual(kept);
  });
});

describe('the transaction of a handler', () => {
  it.each([
    ...[
      'COMMIT',
      'begin',
      'ROLLBACK',
      'end;',
      'START TRANSACTION',
      '/* so */ commit',
      '-- so\n commit',
      'SELECT 1; COMMIT',
    ],
    ...['SELECT 1; COMMIT AND CHAIN', "SELECT 'so'; /* ; */ COMMIT; BEGIN", 'rollback transaction', 'SELECT 1;; end'],
  ])('refuses %s with an error that says why, and the attempt fails', async (text) => {
    await open();
    const { deps, close } = standAlone(outbox, [
      transactionalNamed('sly', (n, tx) => insert(tx, n).then(() => tx.query(text).catch(() => null))),
      transactionalNamed('honest', (n, tx) => insert(tx, n).then(() => tx.query(text))),
    ]);
    const [id = ''] = await enqueue(outbox.db, [event()]);
    await insertDelivery(outbox.db, { eventId: id, handler: 'honest', state: 'waiting', attempts: 0 });
    await expect(attemptOf(deps, 'honest', id)).rejects.toThrow('commits with the ledger');
    expect(await deliveryOf(outbox.db, id, 'honest')).toMatchObject({ state: 'waiting', attempts: 1 });
    expect(await ledgerOf(outbox.db, id, 'honest')).toBeUndefined();
    await insertDelivery(outbox.db, { eventId: id, handler: 'sly', state: 'waiting', attempts: 0 });
    // Refused before it was sent, it has done no harm.
    expect(await attemptOf(deps, 'sly', id)).toEqual({ kind: 'done' });
    expect(await effects()).toHaveLength(1);
    close();
  });

  it.each([
    `SELECT 'a; commit', E'it\\'s; end', "n; rollback" FROM (SELECT 1 AS "n; rollback") AS x`,
    'SELECT $$; commit; $$, $a$; begin $$ $a$ -- ; end',
    'SELECT 1; SELECT 2 /* ; rollback; */; ROLLBACK TO SAVEPOINT here; RELEASE here',
    '/* a /* b */ ; commit later */ SELECT $A$ $a$; commit; $A$',
    'CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END; SELECT pg_temp.f()',
  ])('allows %s, which only speaks of an end', async (text) => {
    await open();
    const store = transactional(async (n, tx) => {
      await insert(tx, n);
      await tx.query('SAVEPOINT here');
      await tx.query(text);
    });
    await outbox.startWorker({}, { handlers: [store] });
    await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'store', 1);
  });

  it('allows savepoints', async () => {
    await open();
    const store = transactional(async (n, tx) => {
      await insert(tx, n);
      await tx.query('SAVEPOINT before');
      await tx.query('SELECT 1/0').catch(() => undefined);
      await tx.query('ROLLBACK TO SAVEPOINT before');
      await insert(tx, n + 100);
    });
    await outbox.startWorker({}, { handlers: [store] });
    await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'store', 1);
    expect(await effects()).toEqual([1, 101]);
  });

  it('is no success when a statement that it did not wait for fails behind the ledger, and costs no other event its effect', async () => {
    await open('db', { EVENT_QUEUE_MAX_ATTEMPTS: '1' });
    const forgetful = transactionalNamed('forgetful', async (n, tx) => {
      await insert(tx, n);
      // PostgreSQL answers the commit that comes after it by rolling back, without an error.
      if (n === 1)
        void tx
          .query('SELECT 1')
          .then(() => tx.query('SELECT 1 / 0'))
          .catch(() => undefined);
    });
    await enqueue(
      outbox.db,
      events(4, (n) => ({ aggregateId: `a${n}` })),
    );
    await outbox.startWorker({}, { handlers: [forgetful] });
    await eventually(async () => (await countDone(outbox.db, 'forgetful')) === 3, undefined, 'three handled');
    const letters = async () => (await deliveryRows(outbox.db)).filter(({ state }) => state === 'dead');
    await eventually(async () => (await letters()).length === 1, undefined, 'a dead letter');
    const [letter] = await letters();
    expect(letter?.failure_reason).toMatch(/a statement .*did not wait for.* failed: await everything/);
    expect(await effects()).toEqual([0, 2, 3]);
    await eventually(async () => (await outbox.rowsByStatus()).done === 3);
  });

  it('takes no statement after its end, with an error that says why', async () => {
    await open();
    let kept: Transaction | undefined;
    await outbox.startWorker({}, { handlers: [transactional((n, tx) => insert((kept = tx), n))] });
    await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'store', 1);
    await expect(insert(kept!, 2)).rejects.toThrow('await everything that a handler starts');
    expect(await effects()).toEqual([1]);
  });

  it('is rolled back at the time-out, and its statement does not run on', async () => {
    await open('db', { OUTBOX_POOL_SIZE: '3' });
    let entered = 0;
    const store = transactional(async (n, tx) => {
      await insert(tx, n);
      if (++entered === 1) await tx.query('SELECT pg_sleep(60)');
    }, 3_000);
    await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '1000' }, { handlers: [store] });
    await enqueue(outbox.db, [event()]);
    await eventually(async () => (await deliveryRows(outbox.db))[0]?.failure_reason === 'it took longer than 3000 ms');
    await allHandled(outbox.db, 'store', 1);
    expect(await effects()).toEqual([1]);
    expect(entered).toBe(2);
    const { rows } = await outbox.db.query(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(60)%' AND state <> 'idle' AND pid <> pg_backend_pid()`,
    );
    expect(rows).toEqual([]);
  });

  it('is rolled back when the ledger claim was taken away while it ran', async () => {
    await open();
    const entered: string[] = [];
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const store = defineHandler({
      name: 'store',
      events: [Thing],
      transactional: true,
      run: async ({ eventId, payload }, { tx }) => {
        entered.push(eventId);
        await insert(tx, payload.n);
        if (entered.length === 1) await gate;
      },
    });
    await outbox.startWorker(
      { OUTBOX_LEDGER_RENEW_MS: '60000', OUTBOX_LEDGER_LEASE_MS: '180000' },
      { handlers: [store] },
    );
    const [id = ''] = await enqueue(outbox.db, [event()]);
    await eventually(() => entered.length === 1);
    // As another worker does that finds the lease over.
    await outbox.db.query(
      `UPDATE :schema.processed_events SET started_at = started_at + interval '1 ms', lease_until = clock_timestamp()`,
    );
    await insertDelivery(outbox.db, { eventId: id, handler: 'store', state: 'waiting', attempts: 0 });
    release();
    await eventually(
      async () => (await unfinished(outbox.db)).inProgress === 1 && (await countDone(outbox.db, 'store')) === 0,
    );
    await eventually(async () => (await outbox.rowsByStatus()).retrying === 1);
    expect(await effects()).toEqual([]);
  });
});

function transactionalNamed(name: string, run: (n: number, tx: Transaction) => unknown) {
  return defineHandler({
    name,
    events: [Thing],
    transactional: true,
    run: ({ payload }, { tx }) => run(payload.n, tx),
  });
}
