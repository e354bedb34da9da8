import { Pool } from 'pg';
import { defineEvent } from '../../src/handlers/defineEvent';
import { defineHandler } from '../../src/handlers/defineHandler';
import { enqueueEvents } from '../../src/outbox/enqueue';
import { enqueue, events } from '../support/events';
import { allHandled } from '../support/handled';
import { TestOutbox } from '../support/outbox';

const Thing = defineEvent<'ThingHappened', { n: number }>('ThingHappened');

describe.each([
  ['db', '1', '8'],
  ['nats', '1', '8'],
  ['db', '2', '4'],
  ['nats', '2', '4'],
])('backend %s with a pool of %s and a concurrency of %s', (backend, poolSize, concurrency) => {
  it('handles 20 events and the follow-ups that their handlers enqueue; nobody waits for another for ever (C22)', async () => {
    const outbox = await TestOutbox.create({
      EVENT_BUS_BACKEND: backend,
      OUTBOX_POOL_SIZE: poolSize,
      OUTBOX_CONCURRENCY: concurrency,
    });
    // An external handler is given no connection: its context has a signal and a key, and nothing of the package leads to
    // the worker's pool. What it enqueues goes through a pool of its own.
    const own = new Pool({ connectionString: outbox.database.url, max: 1 });
    // The database is dropped when the connection may just be closing: its last word is then an error.
    own.on('error', () => undefined);
    outbox.onClose(() => own.end());
    const entered: string[] = [];
    const followUp = (n: number, type: string) => ({ type, aggregateType: 'thing', aggregateId: 'f', payload: { n } });
    const handlers = [
      defineHandler({
        name: 'inside',
        events: [Thing],
        transactional: true,
        run: async ({ payload, eventId }, { tx }) => {
          entered.push(`inside ${eventId}`);
          await enqueueEvents(tx, [followUp(payload.n, 'Followed')], { schema: outbox.db.schema });
        },
      }),
      defineHandler({
        name: 'outside',
        events: [Thing],
        run: async ({ payload, eventId }) => {
          entered.push(`outside ${eventId}`);
          const client = await own.connect();
          try {
            await client.query('BEGIN');
            await enqueueEvents(client, [followUp(payload.n, 'Followed')], { schema: outbox.db.schema });
            await client.query('COMMIT');
          } finally {
            client.release();
          }
        },
      }),
      defineHandler({ name: 'last', events: ['Followed'], run: () => undefined }),
    ];
    try {
      const { logs } = await outbox.startWorker({}, { handlers });
      const began = performance.now();
      await enqueue(
        outbox.db,
        events(20, (n) => ({ aggregateId: `a${n % 5}` })),
      );
      await allHandled(outbox.db, 'inside', 20);
      await allHandled(outbox.db, 'outside', 20);
      await allHandled(outbox.db, 'last', 40);
      await outbox.allDone();
      expect(performance.now() - began).toBeLessThan(60_000);
      // Shared transactions may enter the first kind again; a second claim would enter the second.
      expect(entered.filter((entry) => entry.startsWith('outside'))).toHaveLength(20);
      expect(new Set(entered).size).toBe(40);
      expect(await outbox.rowsByStatus()).toEqual({ done: 60 });
      expect(logs.filter(({ level }) => (level as number) >= 40)).toEqual([]);
    } finally {
      await outbox.close();
    }
  });
});
