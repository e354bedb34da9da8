import { defineHandler } from '../../src/handlers/defineHandler';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows } from '../support/handled';
import { ANY_PORT, endpointOf, scrape, total } from '../support/metrics';
import { TestOutbox, type Settings } from '../support/outbox';

/** What docs/guarantees.md lists as not guaranteed: that it is so, so that the page stays true. */
describe('what is not guaranteed', () => {
  const open: TestOutbox[] = [];
  const started = async (settings: Settings) => {
    const outbox = await TestOutbox.create(settings);
    open.push(outbox);
    return outbox;
  };
  afterEach(async () => {
    for (const outbox of open.splice(0)) await outbox.close();
  });

  it.each(['db', 'nats'])('backend %s: an event whose handler fails is overtaken by the next of its aggregate', async (backend) => {
    const outbox = await started({ EVENT_BUS_BACKEND: backend, OUTBOX_BACKOFF_FIRST_MS: '1000' });
    const handled: unknown[] = [];
    let failed = false;
    const handler = defineHandler({
      name: 'late',
      events: ['ThingHappened'],
      run: ({ payload }) => {
        if (!failed) {
          failed = true;
          throw new Error('not yet');
        }
        handled.push(payload);
      },
    });
    await outbox.startWorker({}, { handlers: [handler] });
    await enqueue(outbox.db, events(2));
    await allHandled(outbox.db, 'late', 2);
    expect(handled).toEqual([{ n: 1 }, { n: 0 }]);
  }); // prettier-ignore

  it('two workers handle two events of one aggregate at the same time', async () => {
    const outbox = await started({ EVENT_BUS_BACKEND: 'nats', OUTBOX_CONCURRENCY: '1' });
    let inside = 0;
    let both: () => void = () => undefined;
    const meeting = new Promise<void>((resolve) => (both = resolve));
    const handler = defineHandler({
      name: 'meet',
      events: ['ThingHappened'],
      // Ends only when another event of the aggregate is in a handler too, or by its signal.
      run: async (_, { signal }) => {
        inside += 1;
        if (inside === 2) both();
        await Promise.race([meeting, new Promise((_resolve, reject) => signal.addEventListener('abort', reject))]);
      },
    });
    for (let worker = 0; worker < 2; worker += 1) await outbox.startWorker({}, { handlers: [handler] });
    // More than one worker has room for, so that the broker gives some to the other.
    await enqueue(outbox.db, events(100));
    await meeting;
    expect(inside).toBeGreaterThanOrEqual(2);
    await allHandled(outbox.db, 'meet', 100);
  });

  it('an event that is published again after the duplicate window is in the stream twice, and handled once', async () => {
    const outbox = await started({ EVENT_BUS_BACKEND: 'nats', OUTBOX_DUPLICATE_WINDOW_MS: '100' });
    let entered = 0;
    const handler = defineHandler({ name: 'once', events: ['ThingHappened'], run: () => void (entered += 1) });
    await outbox.startWorker({}, { handlers: [handler] });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'once', 1);
    // As a relay does that was cut off from everything before it could mark, once the broker has forgotten the id.
    await eventually(async () => {
      await publishAgain(outbox, id);
      await outbox.allDone();
      if ((await outbox.streamCounts()).get(id) === 1) throw new Error('still within the window');
      return true;
    });
    const next = await enqueue(outbox.db, [event({ payload: { n: 2 } })]);
    expect(next).toHaveLength(1);
    await allHandled(outbox.db, 'once', 2);
    expect((await outbox.streamCounts()).get(id)).toBeGreaterThanOrEqual(2);
    expect(entered).toBe(2);
  });

  it('what a worker counted and nobody scraped ends with it: the next one counts from zero', async () => {
    const outbox = await started({ ...ANY_PORT });
    const published = async (endpoint: string) => total(await scrape(endpoint), 'outbox_events_published_total');
    const first = await outbox.spawnWorker();
    const endpoint = await endpointOf(first);
    await enqueue(outbox.db, events(5));
    await eventually(async () => (await published(endpoint)) === 5);
    await enqueue(outbox.db, events(3));
    await outbox.allDone();
    expect(await first.kill('SIGTERM')).toBe(0);
    const next = await endpointOf(await outbox.spawnWorker());
    await enqueue(outbox.db, events(2));
    await outbox.allDone();
    await eventually(async () => (await published(next)) >= 2);
    expect(await published(next)).toBe(2);
  });

  it('what a restored database has forgotten is handled again once the durable consumer is made anew', async () => {
    const outbox = await started({ EVENT_BUS_BACKEND: 'nats' });
    const entered: string[] = [];
    const handler = defineHandler({ name: 'effect', events: ['ThingHappened'], run: ({ eventId }) => void entered.push(eventId) });
    const worker = await outbox.startWorker({}, { handlers: [handler] });
    const ids = await enqueue(outbox.db, events(5));
    await allHandled(outbox.db, 'effect', 5);
    await eventually(async () => {
      const { num_ack_pending } = await outbox.manager.consumers.info(outbox.config().nats.stream, outbox.config().nats.durable);
      if (num_ack_pending > 0) throw new Error('not acknowledged yet');
      return true;
    });
    await worker.stop();
    // The backup was taken when three were handled: their rows and effects are there, of the others only the stream knows.
    await outbox.db.query('DELETE FROM :schema.processed_events WHERE event_id = ANY($1)', [ids.slice(3)]);
    await outbox.manager.consumers.delete(outbox.config().nats.stream, outbox.config().nats.durable);
    await outbox.startWorker({}, { handlers: [handler] });
    await allHandled(outbox.db, 'effect', 5);
    expect(entered.slice(5).sort()).toEqual(ids.slice(3).sort());
    expect(await deliveryRows(outbox.db)).toEqual([]);
  }); // prettier-ignore
});

async function publishAgain({ db }: TestOutbox, eventId: string): Promise<void> {
  await db.query(
    `UPDATE :schema.event_queue SET status = 'pending', published_at = NULL WHERE event_id = $1 AND status = 'done'`,
    [eventId],
  );
}
