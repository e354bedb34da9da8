import { TestOutbox } from '../support/outbox';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import '../support/printedRoles';

describe('the relay', () => {
  let outbox: TestOutbox;

  beforeAll(async () => {
    // A worker that is taken for gone has its rows sent again, and they would be counted as duplicates.
    outbox = await TestOutbox.create({
      OUTBOX_HEARTBEAT_TIMEOUT_MS: '60000',
      OUTBOX_OWN_QUEUE_TIMEOUT_MS: '60000',
    });
    await outbox.startWorker();
  });
  afterAll(() => outbox.close());

  it('publishes committed events once each, in order, under their event ids', async () => {
    const ids = await enqueue(outbox.db, events(2_500));
    await outbox.allDone();
    const stored = (await outbox.messages()).filter(({ eventId }) => ids.includes(eventId));
    expect(stored.map(({ eventId }) => eventId)).toEqual(ids);
  });

  it('publishes nothing of a transaction that rolls back', async () => {
    const client = await outbox.db.pool.connect();
    await client.query('BEGIN');
    const [lost] = await enqueue({ ...outbox.db, pool: client as never }, [event()]);
    await client.query('ROLLBACK');
    client.release();
    const [kept] = await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    const counts = await outbox.streamCounts();
    expect([counts.get(lost!), counts.get(kept!)]).toEqual([undefined, 1]);
  });

  it('answers its status from memory', async () => {
    await eventually(async () => (await outbox.status()).inFlight === 0);
    expect(await outbox.status()).toMatchObject({ state: 'running', totals: { dead: 0, duplicates: 0 } });
  });
});
