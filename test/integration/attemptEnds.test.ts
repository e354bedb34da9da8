import type { DeliveryDeps } from '../../src/activities/deliverer';
import { defineHandler } from '../../src/handlers/defineHandler';
import { attemptOf, claimed, standAlone } from '../support/attempts';
import { deliveryOf, insertDelivery, ledgerOf } from '../support/deliveries';
import { enqueue, event } from '../support/events';
import { TestOutbox } from '../support/outbox';
import type { Database } from '../../src/postgres/database';

const RESET = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

/** What happens to the first statement of this name: before it is sent, and to its answer. */
function once(
  db: Database,
  name: string,
  { before, after }: { before?: () => unknown; after?: () => unknown },
): Database {
  let met = false;
  return {
    ...db,
    query: async (text, ...rest) => {
      const now = !met && text.includes(`/* outbox: ${name} */`);
      met ||= now;
      if (now) await before?.();
      const result = await db.query(text, ...rest);
      if (now) await after?.();
      return result as never;
    },
  };
}
const fail = () => Promise.reject(RESET);

describe('an attempt of a delivery run', () => {
  let outbox: TestOutbox;
  let entered = 0;
  beforeEach(async () => {
    entered = 0;
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db', EVENT_QUEUE_MAX_ATTEMPTS: '2' });
  });
  afterEach(() => outbox.close());

  const failing = defineHandler({
    name: 'mail',
    events: ['ThingHappened'],
    run: () => {
      entered++;
      throw new Error('no such host');
    },
  });
  const waiting = async (handler: string, attempts: number) => {
    const [eventId = ''] = await enqueue(outbox.db, [event()]);
    await insertDelivery(outbox.db, { eventId, handler, state: 'waiting', attempts });
    return eventId;
  };
  const exhausted = (logs: readonly Record<string, unknown>[]) =>
    logs.filter(({ msg }) => msg === 'event exhausted max deliveries');
  const DEAD = { nonRetryable: true, details: [expect.objectContaining({ kind: 'dead', attempts: 2 })] };

  it('that was the last, and whose answer was lost, is told as the dead letter that it made', async () => {
    const { deps, logs, close } = standAlone(outbox, [failing]);
    const eventId = await waiting('mail', 1);
    for (const attempts of [1, 1, undefined])
      await expect(attemptOf(deps, 'mail', eventId, attempts)).rejects.toMatchObject({
        ...DEAD,
        message: 'no such host',
      });
    expect(entered).toBe(1);
    // Nobody knows whether the first line was written: its process may have died before.
    expect(exhausted(logs)).toHaveLength(3);
    close();
  });

  /** What another worker makes of it that takes the first for lost: all attempts that are left. */
  const goneOn = async (deps: DeliveryDeps, eventId: string) => {
    await outbox.db.query(`UPDATE :schema.processed_events SET lease_until = now() - interval '1 second'`);
    while ((await deliveryOf(outbox.db, eventId))?.state === 'waiting')
      await attemptOf(deps, 'mail', eventId).catch(() => undefined);
  };

  it.each([0, 1])(
    'that comes to its end when another worker has gone on to the last tells no dead letter that is not its own: after %i',
    async (before) => {
      const [late, other] = [standAlone(outbox, [failing]), standAlone(outbox, [failing])];
      const eventId = await waiting('mail', before);
      const db = once(outbox.db, 'end attempt', { before: () => goneOn(other.deps, eventId) });
      await expect(attemptOf({ ...late.deps, db }, 'mail', eventId, before)).rejects.toMatchObject(DEAD);
      expect([exhausted(late.logs).length, exhausted(other.logs).length]).toEqual([0, 1]);
      for (const { close } of [late, other]) close();
    },
  );

  it('that comes to its beginning when others have gone on to the last tells no dead letter', async () => {
    const [late, other] = [standAlone(outbox, [failing]), standAlone(outbox, [failing])];
    const eventId = await waiting('mail', 0);
    await goneOn(other.deps, eventId);
    await expect(attemptOf(late.deps, 'mail', eventId, 0)).rejects.toMatchObject(DEAD);
    expect([exhausted(late.logs).length, exhausted(other.logs).length]).toEqual([0, 1]);
    for (const { close } of [late, other]) close();
  });

  it.each([
    [1, 'dead'],
    [0, 'waiting'],
  ] as const)(
    'whose end was written, and the answer to it lost, counts once: after %i before it',
    async (before, state) => {
      const { deps, logs, close } = standAlone(outbox, [failing]);
      const eventId = await waiting('mail', before);
      const ended = attemptOf({ ...deps, db: once(outbox.db, 'end attempt', { after: fail }) }, 'mail', eventId);
      if (state === 'dead') await expect(ended).rejects.toMatchObject(DEAD);
      else expect(await ended).toMatchObject({ kind: 'deferred', attempts: 1, reason: 'no such host' });
      expect(await deliveryOf(outbox.db, eventId, 'mail')).toMatchObject({ state, attempts: before + 1 });
      expect(exhausted(logs)).toHaveLength(before);
      close();
    },
  );

  it('that found a worker lost is none when that worker comes to its end after all', async () => {
    const { deps, logs, close } = standAlone(outbox, [failing]);
    const [eventId = ''] = await enqueue(outbox.db, [event()]);
    await claimed(outbox.db, eventId, 'mail', -1);
    await insertDelivery(outbox.db, { eventId, handler: 'mail', state: 'waiting', attempts: 1 });
    const before = async () => {
      await outbox.db.query(
        `UPDATE :schema.processed_events SET status = 'done', lease_until = NULL, processed_at = now()`,
      );
      await outbox.db.query('DELETE FROM :schema.deliveries');
    };
    const db = once(outbox.db, 'end attempt', { before });
    expect(await attemptOf({ ...deps, db }, 'mail', eventId)).toEqual({ kind: 'done' });
    expect([entered, exhausted(logs).length]).toEqual([0, 0]);
    close();
  });

  // The last two were found by `npm run torture -- --seed 208 --minutes 30 --backend db --rate 6`.
  it.each([
    ['begin attempt', 'ECONNRESET'],
    ['read delivery', 'ECONNRESET'],
    ['read delivery', '42501'],
    ['finish attempt', '25006'],
  ])('spends nothing when PostgreSQL cannot %s (%s)', async (name, code) => {
    const { deps, close } = standAlone(outbox, [
      defineHandler({ name: 'mail', events: ['ThingHappened'], run: () => void entered++ }),
    ]);
    const eventId = await waiting('mail', 1);
    const before = () => Promise.reject(Object.assign(new Error('not now'), { code }));
    const db = once(outbox.db, name, { before });
    // Before anything is claimed the run may ask again; after that nobody else could.
    const first = await attemptOf({ ...deps, db }, 'mail', eventId).catch((error: Error) => error.message);
    expect(first).toEqual(name === 'begin attempt' ? 'not now' : { kind: 'done' });
    if (name === 'begin attempt') expect(await attemptOf({ ...deps, db }, 'mail', eventId)).toEqual({ kind: 'done' });
    expect(entered).toBe(1);
    expect(await ledgerOf(outbox.db, eventId, 'mail')).toBe('done');
    close();
  });

  it('runs a transactional handler again when the connection is lost in it, and charges one that always loses it', async () => {
    const breaking = (name: string, times: number) =>
      defineHandler({
        name,
        events: ['ThingHappened'],
        transactional: true,
        run: async (_, { tx }) => {
          if (++entered <= times) await tx.query('SELECT pg_terminate_backend(pg_backend_pid())');
        },
      });
    const { deps, close } = standAlone(outbox, [breaking('once', 1), breaking('always', Infinity)]);
    const first = await waiting('once', 1);
    expect(await attemptOf(deps, 'once', first)).toEqual({ kind: 'done' });
    expect(entered).toBe(2);
    entered = 0;
    const second = await waiting('always', 1);
    await expect(attemptOf(deps, 'always', second)).rejects.toMatchObject(DEAD);
    expect(entered).toBe(3);
    close();
  });
});
