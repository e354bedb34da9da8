import { z } from 'zod';
import { defineEvent } from '../../src/handlers/defineEvent';
import { defineHandler, type Handler } from '../../src/handlers/defineHandler';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows, unfinished } from '../support/handled';
import { ledgerOf } from '../support/deliveries';
import { TestOutbox } from '../support/outbox';

const Old = defineEvent('ThingHappened', { schema: z.object({ n: z.int() }) });
const Now = defineEvent('ThingHappened', {
  version: 3,
  schema: z.object({ count: z.int(), unit: z.string() }),
  upcast: { 1: ({ n }: { n: number }) => ({ count: n }), 2: (payload: object) => ({ ...payload, unit: 'piece' }) },
});

describe.each(['db', 'nats'])('what must wait, backend %s', (backend) => {
  let outbox: TestOutbox;
  const seen: unknown[] = [];
  const takes = (definition: typeof Old | typeof Now, name = 'store', transactional = false): Handler =>
    defineHandler({
      name,
      events: [definition],
      transactional: transactional as false,
      run: ({ payload, version }) => void seen.push({ version, payload }),
    });
  beforeEach(async () => {
    seen.length = 0;
    outbox = await TestOutbox.create({
      EVENT_BUS_BACKEND: backend,
      OUTBOX_NEWER_VERSION_MS: '1000',
      OUTBOX_MISSING_HANDLER_MS: '1000',
      OUTBOX_BACKOFF_FIRST_MS: '600000',
      OUTBOX_BACKOFF_MAX_MS: '600000',
    });
  });
  afterEach(() => outbox.close());

  it.each([false, true])(
    'events of older versions are lifted step by step; transactional: %s',
    async (transactional) => {
      await outbox.startWorker({}, { handlers: [takes(Now, 'store', transactional)] });
      await enqueue(outbox.db, [
        event({ payload: { n: 1 } }),
        event({ version: 2, payload: { count: 2 } }),
        event({ version: 3, payload: { count: 3, unit: 'box' } }),
      ]);
      await allHandled(outbox.db, 'store', 3);
      expect(seen).toEqual([
        { version: 3, payload: { count: 1, unit: 'piece' } },
        { version: 3, payload: { count: 2, unit: 'piece' } },
        { version: 3, payload: { count: 3, unit: 'box' } },
      ]);
    },
  );

  it.each([false, true])(
    'an event of a newer version waits for a newer worker, without an attempt; transactional: %s',
    async (transactional) => {
      const worker = await outbox.startWorker({}, { handlers: [takes(Old, 'store', transactional)] });
      await enqueue(outbox.db, [
        event({ version: 3, payload: { count: 3, unit: 'box' } }),
        event({ aggregateId: 'b' }),
      ]);
      await allHandled(outbox.db, 'store', 1);
      const due = async () => (await deliveryRows(outbox.db))[0]?.next_at?.getTime();
      const first = await eventually(due);
      // Looked at once more, by its delivery run.
      await eventually(async () => (await due()) !== first);
      expect(await deliveryRows(outbox.db)).toMatchObject([
        { state: 'waiting', attempts: 0, failure_reason: expect.stringMatching(/version 3.*up to 1/) as string },
      ]);
      await worker.stop();
      await outbox.startWorker({}, { handlers: [takes(Now, 'store', transactional)] });
      await allHandled(outbox.db, 'store', 2);
      expect(seen.at(-1)).toEqual({ version: 3, payload: { count: 3, unit: 'box' } });
      await outbox.allDone();
    },
  );

  it('an event that can never fit is dead at once, with the path that failed and without its values', async () => {
    const { logs } = await outbox.startWorker({}, { handlers: [takes(Now), takes(Now, 'inside', true)] });
    const [id = ''] = await enqueue(outbox.db, [event({ version: 2, payload: { count: 'jane.doe' } }), event()]);
    await allHandled(outbox.db, 'store', 1);
    await allHandled(outbox.db, 'inside', 1);
    const rows = await eventually(async () => {
      const found = await deliveryRows(outbox.db);
      return found.length === 2 ? found : undefined;
    });
    for (const row of rows) {
      expect(row).toMatchObject({ event_id: id, state: 'dead', attempts: 1 });
      expect(row.failure_reason).toMatch(/does not fit.*count/);
    }
    expect(JSON.stringify([rows, logs])).not.toContain('jane.doe');
    // Said right after it is written.
    await eventually(() => logs.filter(({ msg }) => msg === 'event exhausted max deliveries').length === 2);
    await eventually(async () => {
      const rowsByStatus = await outbox.rowsByStatus();
      return backend === 'db' ? rowsByStatus.dead_lettered === 1 : rowsByStatus.done === 2;
    });
  });

  it('a recorded handler that a worker lacks is waited for, without an attempt, and runs where it is known', async () => {
    const newer = defineHandler({ name: 'newer', events: ['ThingHappened'], run: () => void seen.push('newer') });
    const first = await outbox.startWorker({}, { handlers: [takes(Old), newer] });
    await first.stop();
    const second = await outbox.startWorker({}, { handlers: [takes(Old)] });
    expect(JSON.stringify(second.logs)).toContain('This worker lacks recorded handlers: newer');
    await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'store', 1);
    // Deferred by the activity of a name that this worker does not have.
    await eventually(
      async () => (await deliveryRows(outbox.db))[0]?.failure_reason === 'no worker here has a handler newer',
    );
    expect(await deliveryRows(outbox.db)).toMatchObject([{ handler: 'newer', state: 'waiting', attempts: 0 }]);
    expect(seen).not.toContain('newer');
    await outbox.startWorker({}, { handlers: [takes(Old), newer] });
    await allHandled(outbox.db, 'newer', 1);
    await outbox.allDone();
    expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: 0 });
  });

  it('an event that comes after a handler was recorded elsewhere is not finished without it by a worker that is older', async () => {
    const older = await outbox.startWorker({}, { handlers: [takes(Old)] });
    await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'store', 1);
    // As a newer worker does that is gone again before it has handled anything.
    await outbox.db.query(
      `UPDATE :schema.outbox_installation SET handlers_revision = handlers_revision + 1, handlers = handlers || '{newer,other}',
              handler_events = handler_events || '{"newer": ["ThingHappened"], "other": ["OtherHappened"]}'`,
    );
    const [known = '', unknown = ''] = await enqueue(outbox.db, [
      event(),
      event({ type: 'OtherHappened', aggregateId: 'o' }),
    ]);
    await allHandled(outbox.db, 'store', 2);
    const rows = await eventually(async () => {
      const found = await deliveryRows(outbox.db);
      return found.length === 2 ? found : undefined;
    });
    expect(rows.map(({ event_id, handler, attempts }) => [event_id, handler, attempts]).sort()).toEqual(
      [
        [known, 'newer', 0],
        [unknown, 'other', 0],
      ].sort(),
    );
    expect(await ledgerOf(outbox.db, known, 'newer')).not.toBe('done');
    await older.stop();
  });

  it('an event that no handler takes is finished, and counted', async () => {
    await outbox.startWorker({}, { handlers: [takes(Old)] });
    const [id = ''] = await enqueue(outbox.db, [event({ type: 'NobodyCares' })]);
    await outbox.allDone();
    if (backend === 'db') await eventually(async () => (await outbox.status()).totals.unhandled === 1);
    else {
      const { stream, durable } = outbox.config().nats;
      await eventually(async () => (await outbox.manager.consumers.info(stream, durable)).ack_floor.stream_seq === 1);
    }
    const { rows } = await outbox.db.query(`SELECT FROM :schema.processed_events WHERE event_id = $1`, [id]);
    expect(rows).toEqual([]);
    expect(await deliveryRows(outbox.db)).toEqual([]);
  });
});
