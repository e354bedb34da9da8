import { defineEvent } from '../../src/handlers/defineEvent';
import { defineHandler } from '../../src/handlers/defineHandler';
import type { Transaction } from '../../src/handlers/defineHandler';
import { ownerOf } from '../support/database';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows } from '../support/handled';
import { TestOutbox } from '../support/outbox';
import '../support/printedRoles';

const Thing = defineEvent<'ThingHappened', { n: number }>('ThingHappened');

/** What a transactional handler is promised does not depend on the backend; `db` is the quicker one to start. */
describe('a transactional handler', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db', EVENT_QUEUE_MAX_ATTEMPTS: '2' });
    await ownerOf(outbox.db).query(
      'CREATE TABLE effects (n integer PRIMARY KEY, twin integer, UNIQUE (twin) DEFERRABLE INITIALLY DEFERRED)',
    );
  });
  afterEach(() => outbox.close());

  const effects = async () =>
    (await outbox.db.query<{ n: number }>('SELECT n FROM effects ORDER BY n')).rows.map(({ n }) => n);
  const dead = (count: number) =>
    eventually(
      async () => (await deliveryRows(outbox.db)).filter(({ state }) => state === 'dead').length === count,
      undefined,
      `${count} dead letters`,
    );
  const insert = (tx: Transaction, n: number, twin: number | null = null) =>
    tx.query('INSERT INTO effects VALUES ($1, $2)', [n, twin]);

  it('costs only its own effect when it fails in a group that shares a transaction', async () => {
    const entered = new Map<number, number>();
    const handler = defineHandler({
      name: 'some',
      events: [Thing],
      transactional: true,
      run: async ({ payload: { n } }, { tx }) => {
        entered.set(n, (entered.get(n) ?? 0) + 1);
        await insert(tx, n);
        if (n === 7) throw new Error('seven');
        // Breaks the transaction for whoever comes after it.
        if (n === 23) await tx.query('SELECT 1 / 0');
      },
    });
    await enqueue(
      outbox.db,
      events(60, (n) => ({ aggregateId: `a${n}` })),
    );
    await outbox.startWorker({}, { handlers: [handler] });
    await allHandled(outbox.db, 'some', 58);
    await dead(2);
    const others = Array.from({ length: 60 }, (_, n) => n).filter((n) => n !== 7 && n !== 23);
    expect(await effects()).toEqual(others);
    // Charged for itself only: each of its attempts is one entry.
    expect([entered.get(7), entered.get(23)]).toEqual([2, 2]);
    // A row is settled after its handlers.
    await eventually(async () => {
      const byStatus = await outbox.rowsByStatus();
      return byStatus.done === 58 && byStatus.dead_lettered === 2;
    });
  });

  it('is repeated alone when the commit of its group fails, and only the one that spoils it fails', async () => {
    const handler = defineHandler({
      name: 'twins',
      events: [Thing],
      transactional: true,
      run: async ({ payload: { n } }, { tx }) => void (await insert(tx, n, n === 31 ? 30 : n)),
    });
    await enqueue(
      outbox.db,
      events(40, (n) => ({ aggregateId: `a${n}` })),
    );
    await outbox.startWorker({}, { handlers: [handler] });
    await dead(1);
    await allHandled(outbox.db, 'twins', 39);
    const there = await effects();
    // 30 and 31 exclude each other; which of them came first is chance, as they belong to two aggregates.
    const missing = Array.from({ length: 40 }, (_, n) => n).filter((n) => !there.includes(n));
    expect(missing).toHaveLength(1);
    expect([30, 31]).toContain(missing[0]);
  });

  it('cannot end or begin a transaction, and cannot use `tx` after its end', async () => {
    const errors: string[] = [];
    let kept: Transaction | undefined;
    const handler = defineHandler({
      name: 'meddling',
      events: [Thing],
      transactional: true,
      run: async ({ payload: { n } }, { tx }) => {
        for (const sql of ['COMMIT', ' begin', 'ROLLBACK', 'abort', 'START TRANSACTION', 'end'])
          await tx.query(sql).catch((error: Error) => errors.push(error.message));
        await tx.query('SAVEPOINT here');
        await tx.query('ROLLBACK TO SAVEPOINT here');
        await insert(tx, n);
        kept = tx;
      },
    });
    await outbox.startWorker({}, { handlers: [handler] });
    await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'meddling', 1);
    expect(errors).toHaveLength(6);
    expect(new Set(errors).size).toBe(1);
    expect(errors[0]).toMatch(/commits with the ledger/);
    await expect(kept?.query('SELECT 1')).rejects.toThrow(/is over/);
    expect(await effects()).toEqual([1]);
  });

  it('is cut off at its time-out and rolls back, and its locks do not hold up the next attempt', async () => {
    const handler = defineHandler({
      name: 'slow',
      events: [Thing],
      transactional: true,
      timeoutMs: 2_000,
      run: async ({ payload: { n } }, { tx, attempt }) => {
        await insert(tx, n);
        if (attempt === 1) await tx.query('SELECT pg_sleep(30)');
      },
    });
    await outbox.startWorker({ EVENT_QUEUE_MAX_ATTEMPTS: '10' }, { handlers: [handler] });
    await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'slow', 1);
    expect(await effects()).toEqual([1]);
  });

  it('commits nothing when its ledger claim was lost meanwhile', async () => {
    let entries = 0;
    const handler = defineHandler({
      name: 'robbed',
      events: [Thing],
      transactional: true,
      run: async ({ eventId, payload: { n } }, { tx }) => {
        entries++;
        await insert(tx, n);
        // As if this process had been frozen for so long that another worker took over, and is at work.
        if (entries === 1)
          await outbox.db.query(
            `UPDATE :schema.processed_events SET started_at = started_at + interval '1 s', lease_until = clock_timestamp() + interval '1 h' WHERE event_id = $1`,
            [eventId],
          );
      },
    });
    await outbox.startWorker({}, { handlers: [handler] });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    await eventually(() => entries > 0);
    // The rival's claim stands in the ledger; ours wrote neither effect nor `done`.
    await eventually(async () => (await outbox.rowsByStatus()).processing === undefined, undefined, 'a settled row');
    expect(await effects()).toEqual([]);
    const { rows } = await outbox.db.query(`SELECT status FROM :schema.processed_events WHERE event_id = $1`, [id]);
    expect(rows).toEqual([{ status: 'in_progress' }]);
    // The rival may die: the event waits for the end of its lease, and no attempt is spent.
    expect(await deliveryRows(outbox.db)).toMatchObject([{ event_id: id, state: 'waiting', attempts: 0 }]);
  });
});

describe('an external handler', () => {
  it('is told by its signal: at its time-out, and when its ledger claim is lost; its key stays the same', async () => {
    const outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db', OUTBOX_LEDGER_RENEW_MS: '200' });
    try {
      const reasons: string[] = [];
      const keys = new Set<string>();
      let robbed = false;
      const handler = defineHandler({
        name: 'waiting',
        events: [Thing],
        timeoutMs: 5_000,
        run: async ({ eventId, payload: { n } }, { signal, attempt, idempotencyKey }) => {
          keys.add(`${n} ${idempotencyKey}`);
          if (attempt > 1 || (n === 1 && robbed)) return;
          const told = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          if (n === 1) {
            robbed = true;
            await outbox.db.query('DELETE FROM :schema.processed_events WHERE event_id = $1', [eventId]);
          }
          await told;
          reasons.push(`${n}: ${(signal.reason as Error).message}`);
          throw new Error('stopped by the signal');
        },
      });
      await outbox.startWorker({}, { handlers: [handler] });
      const ids = await enqueue(outbox.db, [
        event({ payload: { n: 0 }, aggregateId: 'a' }),
        event({ payload: { n: 1 }, aggregateId: 'b' }),
      ]);
      await eventually(() => reasons.length === 2, undefined, 'two signals');
      expect(reasons.sort()).toEqual([
        '0: it took longer than 5000 ms',
        '1: another worker took its ledger claim over',
      ]);
      await allHandled(outbox.db, 'waiting', 2);
      expect([...keys].sort()).toEqual(ids.map((id, n) => `${n} ${id}:waiting`));
    } finally {
      await outbox.close();
    }
  });
});
