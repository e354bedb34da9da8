import { z } from 'zod';
import { defineEvent } from '../../src/handlers/defineEvent';
import { defineHandler } from '../../src/handlers/defineHandler';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows } from '../support/handled';
import { TestOutbox } from '../support/outbox';

const schema = z.object({ cents: z.number().int(), note: z.string() });
const v2 = defineEvent('Priced', {
  version: 2,
  schema,
  upcast: { 1: (payload) => ({ cents: (payload as { euros: number }).euros * 100, note: 'lifted' }) },
});
const v3 = defineEvent('Priced', {
  version: 3,
  schema: schema.extend({ currency: z.string() }),
  upcast: {
    1: (payload) => ({ cents: (payload as { euros: number }).euros * 100, note: 'lifted' }),
    2: (payload) => ({ ...(payload as object), currency: 'EUR' }),
  },
});

describe.each(['db', 'nats'])('backend %s: versions of an event', (backend) => {
  let outbox: TestOutbox;
  const seen: unknown[] = [];

  beforeEach(async () => {
    seen.length = 0;
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, OUTBOX_NEWER_VERSION_MS: '700' });
  });
  afterEach(() => outbox.close());

  const handlerOf = (definition: typeof v2 | typeof v3) =>
    defineHandler({
      name: 'pricing',
      events: [definition],
      run: ({ version, payload }) => void seen.push({ version, ...payload }),
    });
  const priced = (version: number, payload: unknown) => event({ type: 'Priced', version, payload });

  it('an older one is lifted step by step to what the handler knows', async () => {
    await outbox.startWorker({}, { handlers: [handlerOf(v3)] });
    await enqueue(outbox.db, [priced(1, { euros: 3 }), priced(2, { cents: 5, note: 'n' })]);
    await allHandled(outbox.db, 'pricing', 2);
    expect(seen).toEqual(
      expect.arrayContaining([
        { version: 3, cents: 300, note: 'lifted', currency: 'EUR' },
        { version: 3, cents: 5, note: 'n', currency: 'EUR' },
      ]),
    );
  });

  it('a newer one waits without spending an attempt, and is handled by the worker that knows it', async () => {
    const old = await outbox.startWorker({}, { handlers: [handlerOf(v2)] });
    await enqueue(outbox.db, [priced(3, { cents: 7, note: 'n', currency: 'CHF' })]);
    const [waiting] = await eventually(async () => {
      const rows = await deliveryRows(outbox.db);
      return rows.length > 0 ? rows : undefined;
    });
    expect(waiting).toMatchObject({ state: 'waiting', attempts: 0, handler: 'pricing' });
    expect(waiting?.failure_reason).toContain('version 3');
    expect(seen).toEqual([]);
    await old.stop();
    await outbox.startWorker({}, { handlers: [handlerOf(v3)] });
    await allHandled(outbox.db, 'pricing', 1);
    expect(seen).toEqual([{ version: 3, cents: 7, note: 'n', currency: 'CHF' }]);
    expect(await deliveryRows(outbox.db)).toEqual([]);
  });

  it('an event that cannot fit is dead at once, with the path that failed and without its value', async () => {
    const { logs } = await outbox.startWorker({}, { handlers: [handlerOf(v2)] });
    await enqueue(outbox.db, [priced(2, { cents: 'Ann Example', note: 'n' }), priced(2, { cents: 1, note: 'good' })]);
    await allHandled(outbox.db, 'pricing', 1);
    const rows = await eventually(async () => {
      const found = await deliveryRows(outbox.db);
      return found.length > 0 ? found : undefined;
    });
    expect(rows).toMatchObject([{ state: 'dead', handler: 'pricing' }]);
    expect(rows[0]?.failure_reason).toContain('cents');
    expect(rows[0]?.failure_reason).not.toContain('Ann');
    // Said right after it is written.
    await eventually(() => logs.some(({ level }) => (level as number) >= 50));
    expect(logs.filter(({ level }) => (level as number) >= 50)).toHaveLength(1);
    expect(seen).toEqual([{ version: 2, cents: 1, note: 'good' }]);
  });

  it('a body written past us keeps every digit: an integer past 2^53 arrives as a bigint', async () => {
    const raw = defineHandler({
      name: 'raw',
      events: ['Raw'],
      run: ({ payload }) => void seen.push((payload as { id: bigint }).id),
    });
    await outbox.startWorker({}, { handlers: [raw] });
    await outbox.db.query(
      `INSERT INTO :schema.event_queue (event_type, aggregate_type, aggregate_id, payload)
       VALUES ('Raw', 'thing', 'a', '{"id": 9007199254740993}')`,
    );
    await allHandled(outbox.db, 'raw', 1);
    expect(seen).toEqual([9007199254740993n]);
  });
});

describe.each(['db', 'nats'])('backend %s: a handler that a worker lacks', (backend) => {
  it('gets its events all the same, also those that a worker without it took, and no attempt is spent', async () => {
    const outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, OUTBOX_MISSING_HANDLER_MS: '500' });
    try {
      const called: string[] = [];
      const handler = (name: string) =>
        defineHandler({ name, events: ['ThingHappened'], run: () => void called.push(name) });
      const both = await outbox.startWorker({}, { handlers: [handler('kept'), handler('new')] });
      await both.stop();
      // As the old version in a rolling deployment.
      const { logs } = await outbox.startWorker({}, { handlers: [handler('kept')] });
      expect(logs.some(({ msg }) => /lacks recorded handlers: new\./.test(String(msg)))).toBe(true);
      await enqueue(outbox.db, [event()]);
      await allHandled(outbox.db, 'kept', 1);
      const waiting = await eventually(async () => {
        const rows = await deliveryRows(outbox.db);
        return rows.some(({ failure_reason: reason }) => reason?.startsWith('no worker here')) ? rows : undefined;
      });
      expect(waiting).toMatchObject([{ handler: 'new', state: 'waiting', attempts: 0 }]);
      await outbox.startWorker({}, { handlers: [handler('kept'), handler('new')] });
      await allHandled(outbox.db, 'new', 1);
      await outbox.allDone();
      expect(called.sort()).toEqual(['kept', 'new']);
    } finally {
      await outbox.close();
    }
  });

  it('is never left out by a worker that started before the handler was recorded', async () => {
    const outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, OUTBOX_MISSING_HANDLER_MS: '500' });
    try {
      const kept = defineHandler({ name: 'kept', events: ['ThingHappened'], run: () => undefined });
      const late = defineHandler({ name: 'late', events: ['ThingHappened', 'Unheard'], run: () => undefined });
      await outbox.startWorker({}, { handlers: [kept] });
      await enqueue(outbox.db, [event()]);
      await allHandled(outbox.db, 'kept', 1);
      const second = await outbox.startWorker({}, { handlers: [kept, late] });
      await second.stop();
      await enqueue(outbox.db, [event(), event({ type: 'Unheard' })]);
      await eventually(async () => (await deliveryRows(outbox.db)).length === 2, undefined, 'two deliveries');
      await outbox.startWorker({}, { handlers: [kept, late] });
      await allHandled(outbox.db, 'late', 2);
    } finally {
      await outbox.close();
    }
  });
});
