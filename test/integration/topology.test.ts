import { AckPolicy, jetstream, RetentionPolicy, type ConsumerConfig, type StreamConfig } from '@nats-io/jetstream';
import { nanos } from 'nats';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox, type InProcessWorker } from '../support/outbox';

/** As pino counts. */
const WARNING = 40;
const SEVEN_DAYS = nanos(7 * 24 * 3_600_000);

describe('stream and consumer', () => {
  let outbox: TestOutbox;

  beforeEach(async () => {
    outbox = await TestOutbox.create();
  });
  afterEach(() => outbox.close());

  it('are created when absent', async () => {
    const worker = await outbox.startWorker();
    expect((await streamInfo()).config).toMatchObject({
      subjects: [`${prefix()}.>`],
      storage: 'file',
      retention: 'limits',
      max_age: SEVEN_DAYS,
      duplicate_window: nanos(3_600_000),
      allow_atomic: true,
    });
    expect((await consumerInfo()).config).toMatchObject({
      max_deliver: 10,
      ack_wait: nanos(10_000),
      ack_policy: 'explicit',
    });
    expect(changes(worker)).toEqual([]);
  });

  it('existing ones keep all that an operator set but for three settings, and their position; the change is said once (C32)', async () => {
    await addStream({
      description: 'ops',
      max_age: SEVEN_DAYS,
      duplicate_window: nanos(120_000),
      max_msgs_per_subject: 5_000,
      max_consumers: 7,
      max_bytes: 50_000_000,
      deny_delete: true,
      metadata: { team: 'ops' },
    });
    await addConsumer({
      description: 'ops too',
      max_deliver: -1,
      ack_wait: nanos(30_000),
      max_ack_pending: 7,
      filter_subject: `${prefix()}.thing.*`,
      metadata: { team: 'ops' },
    });
    for (let n = 0; n < 5; n++) await jetstream(outbox.nats).publish(`${prefix()}.thing.Old`, `${n}`);
    const consumer = await jetstream(outbox.nats).consumers.get(stream(), durable());
    for (let n = 0; n < 3; n++) await (await consumer.next())!.ackAck();
    const stream0 = await streamInfo();
    const consumer0 = await consumerInfo();

    const first = await outbox.startWorker();
    const stream1 = await streamInfo();
    const consumer1 = await consumerInfo();
    expect(stream1.config).toEqual({ ...stream0.config, duplicate_window: nanos(3_600_000) });
    expect(consumer1.config).toEqual({ ...consumer0.config, max_deliver: 10, ack_wait: nanos(10_000) });
    expect([consumer1.delivered.stream_seq, consumer1.ack_floor.stream_seq, consumer1.num_pending]).toEqual([3, 3, 2]);
    expect(stream1.state.messages).toBe(5);
    expect(changes(first)).toEqual([
      expect.stringContaining('changed duplicate_window from 120s to 3600s'),
      expect.stringContaining('changed max_deliver from -1 to 10, ack_wait from 30s to 10s'),
    ]);

    await first.stop();
    const second = await outbox.startWorker();
    expect((await streamInfo()).config).toEqual(stream1.config);
    expect((await consumerInfo()).config).toEqual(consumer1.config);
    expect(changes(second)).toEqual([]);
    // Old messages are not replayed, and the next is the fourth.
    expect((await consumer.next())!.string()).toBe('3');
  });

  it('a change that the broker refuses is one warning with the command, and the worker runs all the same', async () => {
    // No stream may remember ids for longer than it keeps messages.
    await addStream({ max_age: nanos(600_000), duplicate_window: nanos(120_000) });
    const worker = await outbox.startWorker();
    const said = worker.logs.filter(({ msg }) => String(msg).includes('duplicate_window'));
    expect(said).toHaveLength(1);
    expect(said[0]).toMatchObject({ level: 40 });
    expect(said[0]!.msg).toContain(`nats stream edit ${stream()} --dupe-window=3600s`);
    expect((await streamInfo()).config.duplicate_window).toBe(nanos(120_000));
    const ids = await enqueue(outbox.db, events(3));
    await outbox.allDone();
    expect((await outbox.messages()).map(({ eventId }) => eventId)).toEqual(ids);
  });

  it('a consumer change that the broker refuses is one warning with the command, and the worker runs all the same', async () => {
    await addStream({});
    // A backoff longer than `max_deliver` allows for: the server refuses fewer deliveries than steps.
    await addConsumer({
      max_deliver: 20,
      backoff: Array.from({ length: 15 }, (_, index) => nanos((index + 1) * 1_000)),
    });
    const worker = await outbox.startWorker();
    const said = worker.logs.filter(({ msg }) => String(msg).includes('nats consumer edit'));
    expect(said).toHaveLength(1);
    expect(said[0]!.msg).toContain(`nats consumer edit ${stream()} ${durable()} --max-deliver=10`);
    await enqueue(outbox.db, [event()]);
    await outbox.allDone();
  });

  it('subjects that another stream has are named as the reason, and events wait until they are free', async () => {
    const other = `${stream()}_other`;
    await outbox.manager.streams.add({ name: other, subjects: [`${prefix()}.thing.>`] });
    const worker = await outbox.startWorker();
    const ids = await enqueue(outbox.db, events(3));
    await eventually(async () => {
      const { state, lastError } = await outbox.status();
      return (
        state === 'waiting for the broker' && lastError!.message.includes(`the stream ${stream()} cannot be created`)
      );
    });
    expect((await outbox.status()).lastError!.message).toContain('subjects overlap');
    expect(worker.logs.filter(({ msg }) => String(msg).includes('subjects overlap'))).toHaveLength(1);
    expect(await outbox.rowsByStatus()).toEqual({ pending: 3 });
    await outbox.manager.streams.delete(other);
    await outbox.allDone();
    expect((await outbox.messages()).map(({ eventId }) => eventId)).toEqual(ids);
  });

  const stream = () => outbox.config().nats.stream;
  const durable = () => outbox.config().nats.durable;
  const prefix = () => outbox.config().nats.subjectPrefix;
  const streamInfo = () => outbox.manager.streams.info(stream());
  const consumerInfo = () => outbox.manager.consumers.info(stream(), durable());

  function addStream(config: Partial<StreamConfig>) {
    return outbox.manager.streams.add({
      name: stream(),
      subjects: [`${prefix()}.>`],
      retention: RetentionPolicy.Limits,
      ...config,
    });
  }

  function addConsumer(config: Partial<ConsumerConfig>) {
    return outbox.manager.consumers.add(stream(), {
      durable_name: durable(),
      ack_policy: AckPolicy.Explicit,
      ...config,
    });
  }
});

/** What the worker said of existing settings. */
function changes(worker: InProcessWorker): unknown[] {
  const said = worker.logs.filter(({ msg }) => /existed with other settings|Change it with/.test(String(msg)));
  expect(said.filter(({ level }) => level !== WARNING)).toEqual([]);
  return said.map(({ msg }) => msg);
}
