import { jetstream } from '@nats-io/jetstream';
import { nanos } from 'nats';
import { defineHandler } from '../../src/handlers/defineHandler';
import { reemit } from '../../src/deadLetters/reemit';
import { waitUntilHandled } from '../../src/waitUntilHandled';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { ledgerOf } from '../support/deliveries';
import { deliveryRows } from '../support/handled';
import { TestOutbox } from '../support/outbox';
import { runCli } from '../support/runCli';

/** How a dead letter is handed back: each way gives a full budget, once. */
const WAYS: Record<string, (outbox: TestOutbox, ids: string[]) => Promise<unknown>> = {
  'an update of the relay': (outbox, ids) => outbox.relay().executeUpdate('reemit', { args: [{ ids }] }),
  'a signal to the relay': (outbox, ids) => outbox.relay().signal('reemit', { ids }),
  'reemitAll of one handler': (outbox) => outbox.relay().executeUpdate('reemitAll', { args: [{ handler: 'mended' }] }),
  'the command': (outbox, ids) => runCli(['reemit', ...ids], outbox.settings),
  'the library, without Temporal': (outbox, ids) => reemit(outbox.db.pool, ids, { schema: outbox.db.schema }),
};

describe.each(['db', 'nats'])('backend %s: a dead letter of a handler', (backend) => {
  let outbox: TestOutbox;
  let calls = 0;
  let healthyFrom = Infinity;
  const mended = defineHandler({
    name: 'mended',
    events: ['ThingHappened'],
    run: () => {
      if (++calls < healthyFrom) throw new Error(`call ${calls}`);
    },
  });

  // One world for all: each test has an event of its own, and only the last leaves a dead letter behind.
  beforeAll(async () => {
    outbox = await TestOutbox.create({
      EVENT_BUS_BACKEND: backend,
      EVENT_QUEUE_MAX_ATTEMPTS: '3',
      OUTBOX_BACKOFF_FIRST_MS: '50',
    });
    await outbox.startWorker({}, { handlers: [mended] });
  });
  afterAll(() => outbox.close());
  beforeEach(() => {
    calls = 0;
    healthyFrom = Infinity;
  });

  const dead = () =>
    eventually(
      async () => (await deliveryRows(outbox.db)).some(({ state }) => state === 'dead'),
      undefined,
      'a dead letter',
    );
  const handled = (id: string) =>
    eventually(async () => (await ledgerOf(outbox.db, id, 'mended')) === 'done', 30_000, 'a handled event');
  const copiesOf = async (id: string) => (await outbox.streamCounts()).get(id);

  const subjectOf = async (id: string) => (await outbox.messages()).find(({ eventId }) => eventId === id)!.subject;

  it.each(Object.keys(WAYS))('is handed back with a full budget by %s (C37, C40)', async (way) => {
    const [id = ''] = await enqueue(outbox.db, [event()]);
    await dead();
    expect(calls).toBe(3);
    // Mended only after it has failed once more: with the old count it would die of that (C37).
    healthyFrom = 5;
    await WAYS[way]?.(outbox, [id]);
    await handled(id);
    expect(calls).toBe(5);
    await outbox.allDone();
    expect(await deliveryRows(outbox.db)).toEqual([]);
    // Not a second publish, which the broker would swallow (C40); and it remembers the id as before.
    if (backend === 'nats') {
      expect((await jetstream(outbox.nats).publish(await subjectOf(id), '{}', { msgID: id })).duplicate).toBe(true);
      expect(await copiesOf(id)).toBe(1);
    }
    const again = await reemit(outbox.db.pool, [id], { schema: outbox.db.schema });
    expect(again.revived).toEqual([]);
    expect(again.refused).toMatchObject([{ id }]);
    expect(calls).toBe(5);
  });

  if (backend === 'nats')
    it('is handed back past the duplicate window as within it, and no second time published (C40)', async () => {
      const [id = ''] = await enqueue(outbox.db, [event()]);
      await dead();
      const { config } = await outbox.manager.streams.info(outbox.config().nats.stream);
      await outbox.manager.streams.update(config.name, { ...config, duplicate_window: nanos(100) });
      healthyFrom = 4;
      await reemit(outbox.db.pool, [id], { schema: outbox.db.schema });
      await handled(id);
      expect(calls).toBe(4);
      expect(await copiesOf(id)).toBe(1);
    });

  it('dies again after its full budget, and waitUntilHandled rejects with its reason', async () => {
    const [id = ''] = await enqueue(outbox.db, [event()]);
    const waiting = waitUntilHandled(outbox.db.pool, id, { schema: outbox.db.schema, timeoutMs: 50_000 });
    await expect(waiting).rejects.toMatchObject({ kind: 'dead-letter', handler: 'mended', reason: 'call 3' });
    await outbox.relay().executeUpdate('reemit', { args: [{ ids: [id] }] });
    await eventually(() => calls === 6);
    await dead();
    expect(await deliveryRows(outbox.db)).toMatchObject([{ attempts: 3, state: 'dead', failure_reason: 'call 6' }]);
  });
});
