import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { atRest } from './outcome';
import { CrashWorld, PATIENCE_MS } from './world';

/** Not shorter: the broker is told of a message in hand three times in it, and a busy machine is late with that. */
const ACK_WAIT_MS = 5_000;

describe('handlers slower than the broker waits', () => {
  let world: CrashWorld;

  beforeEach(async () => {
    world = await CrashWorld.open({
      EVENT_BUS_BACKEND: 'nats',
      OUTBOX_ACK_WAIT_MS: `${ACK_WAIT_MS}`,
      OUTBOX_LEDGER_LEASE_MS: '30000',
      OUTBOX_CONCURRENCY: '2',
      EVENT_QUEUE_MAX_ATTEMPTS: '3',
    });
  });
  afterEach(() => world.close());

  it('a message is not delivered again while it is in hand, and two workers share what is slow (C19)', async () => {
    const workers = [await world.worker(), await world.worker()];
    const [long = ''] = await enqueue(world.db, [event({ type: 'Outside', payload: { ms: 17_000 } })]);
    await eventually(() => world.entries(long).length === 1, PATIENCE_MS, 'the long one at work');
    const ten = await enqueue(
      world.db,
      events(10, (n) => ({ type: 'Outside', aggregateId: `a${n}`, payload: { ms: 4_000 } })),
    );
    await atRest(world, [long, ...ten]);

    const begun = world.journal().filter(({ kind }) => kind === 'begin');
    expect(begun.map(({ eventId }) => eventId).sort()).toEqual([long, ...ten].sort());
    const pids = new Set(begun.filter(({ eventId }) => ten.includes(eventId)).map(({ pid }) => pid));
    expect([...pids].sort()).toEqual(workers.map(({ child }) => child.pid).sort());
    const { nats } = world.outbox.config();
    const { delivered, num_redelivered } = await world.outbox.manager.consumers.info(nats.stream, nats.durable);
    expect({ delivered: delivered.consumer_seq, num_redelivered }).toEqual({ delivered: 11, num_redelivered: 0 });
  }, 300_000);
});
