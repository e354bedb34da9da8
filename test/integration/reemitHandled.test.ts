import { defineHandler } from '../../src/handlers/defineHandler';
import { reemit } from '../../src/deadLetters/reemit';
import { waitUntilHandled } from '../../src/waitUntilHandled';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows } from '../support/handled';
import { TestOutbox } from '../support/outbox';

/** How a dead letter is handed back: each way gives a full budget, once. */
const WAYS: Record<string, (outbox: TestOutbox, ids: string[]) => Promise<unknown>> = {
  'an update of the relay': (outbox, ids) => outbox.relay().executeUpdate('reemit', { args: [{ ids }] }),
  'a signal to the relay': (outbox, ids) => outbox.relay().signal('reemit', { ids }),
  'reemitAll of one handler': (outbox) => outbox.relay().executeUpdate('reemitAll', { args: [{ handler: 'mended' }] }),
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

  beforeEach(async () => {
    calls = 0;
    healthyFrom = Infinity;
    outbox = await TestOutbox.create({
      EVENT_BUS_BACKEND: backend,
      EVENT_QUEUE_MAX_ATTEMPTS: '3',
      OUTBOX_BACKOFF_FIRST_MS: '50',
    });
    await outbox.startWorker({}, { handlers: [mended] });
  });
  afterEach(() => outbox.close());

  const dead = () =>
    eventually(
      async () => (await deliveryRows(outbox.db)).some(({ state }) => state === 'dead'),
      undefined,
      'a dead letter',
    );

  it.each(Object.keys(WAYS))('is handed back with a full budget by %s (C37, C40)', async (way) => {
    const [id = ''] = await enqueue(outbox.db, [event()]);
    await dead();
    expect(calls).toBe(3);
    // Mended only after it has failed once more: with the old count it would die of that (C37).
    healthyFrom = 5;
    await WAYS[way]?.(outbox, [id]);
    await allHandled(outbox.db, 'mended', 1);
    expect(calls).toBe(5);
    await outbox.allDone();
    expect(await deliveryRows(outbox.db)).toEqual([]);
    // Not a second publish, which the broker would swallow (C40).
    if (backend === 'nats') expect(await outbox.streamCounts()).toEqual(new Map([[id, 1]]));
    const again = await reemit(outbox.db.pool, [id], { schema: outbox.db.schema });
    expect(again.revived).toEqual([]);
    expect(again.refused).toMatchObject([{ id }]);
    expect(calls).toBe(5);
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
