import { defineHandler } from '../../src/handlers/defineHandler';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows, unfinished } from '../support/handled';
import { TestOutbox } from '../support/outbox';

/** What PostgreSQL forgets when it crashes before a relaxed claim is on disk, or fails over to a standby that lags. */
const FORGET = `DELETE FROM :schema.processed_events`;
/** What another worker does once the lease is over. */
const TAKE_OVER = `
  UPDATE :schema.processed_events
     SET started_at = started_at + interval '1 ms', lease_until = clock_timestamp() + interval '2 s'`;

describe.each(['db', 'nats'])('a handler whose ledger claim is gone when it ends, backend %s', (backend) => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({
      EVENT_BUS_BACKEND: backend,
      OUTBOX_BACKOFF_FIRST_MS: '100',
      // Longer than the test: it is the ledger that is asked again, not the broker.
      OUTBOX_ACK_WAIT_MS: '600000',
      OUTBOX_SWEEP_AFTER_MS: '600000',
    });
  });
  afterEach(() => outbox.close());

  async function ending(kind: 'transactional' | 'external', statement: string, fails: boolean) {
    const attempts: number[] = [];
    const run = async (_: unknown, { attempt }: { attempt: number }) => {
      attempts.push(attempt);
      if (attempts.length > 1) return;
      await outbox.db.query(statement);
      if (fails) throw new Error('the first time');
    };
    const common = { name: 'call', events: ['ThingHappened'] as const, run };
    const handler =
      kind === 'transactional' ? defineHandler({ ...common, transactional: true }) : defineHandler(common);
    await outbox.startWorker({}, { handlers: [handler] });
    await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'call', 1);
    await outbox.allDone();
    await eventually(async () => (await unfinished(outbox.db)).waiting === 0);
    expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: 0 });
    return attempts;
  }

  it.each(['transactional', 'external'] as const)(
    'because PostgreSQL forgot it, %s, is run again at once, and the event is not lost',
    async (kind) => {
      expect(await ending(kind, FORGET, false)).toEqual([1, 1]);
      expect(await deliveryRows(outbox.db)).toEqual([]);
    },
  );

  it.each(['transactional', 'external'] as const)(
    'because PostgreSQL forgot it, %s, and that failed, is run again, and the event is not lost',
    async (kind) => {
      expect((await ending(kind, FORGET, true)).length).toBe(2);
    },
  );

  it.each(['transactional', 'external'] as const)(
    'because a worker took it over that dies as well, %s, is run again by a delivery run, and the event is not lost',
    async (kind) => {
      // The death of the second worker is an attempt.
      expect(await ending(kind, TAKE_OVER, false)).toEqual([1, 2]);
    },
  );
});
