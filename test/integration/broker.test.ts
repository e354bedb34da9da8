import { AckPolicy } from '@nats-io/jetstream';
import { randomUUID } from 'node:crypto';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { openBroker, type Broker, type Outcome } from '../../src/broker';
import type { ClaimedEvent } from '../../src/event';
import { eventually } from '../support/eventually';
import { TestOutbox, type Settings } from '../support/outbox';
import { OwnServers } from '../support/ownServers';

/** The broker by itself: what one call of `publish` does. */
describe('a broker', () => {
  let outbox: TestOutbox;
  const logs: { level: number; msg: string }[] = [];

  beforeEach(async () => {
    logs.length = 0;
    outbox = await TestOutbox.create();
  });
  afterEach(() => outbox.close());

  it.each([31, 32, 33, 1_000, 1_001, 1_032, 2_031])(
    'stores %i events of one call once each, in order',
    async (count) => {
      const given = claimed(count);
      const outcomes = await publish(await open(), given);
      expect(outcomes.every((outcome) => outcome?.kind === 'published')).toBe(true);
      expect((await outbox.messages()).map(({ eventId }) => eventId)).toEqual(given.map(({ eventId }) => eventId));
    },
  );

  it('makes the stream again when the server is back without its store', async () => {
    const own = new OwnServers();
    outbox.onClose(() => own.close());
    const nats = await own.nats();
    const broker = await open({ NATS_URL: nats.url });
    await publish(broker, claimed(1));
    await nats.stop();
    await eventually(() => !broker.up);
    rmSync(join(own.directory, 'n', 'nats'), { recursive: true, force: true });
    await nats.start();
    await eventually(() => broker.up);
    expect(await publish(broker, claimed(1))).toEqual([{ kind: 'published', duplicate: false }]);
  });

  it('publishes to a stream whose consumer cannot be created, and says once how to make it', async () => {
    const { stream, subjectPrefix } = outbox.config().nats;
    await outbox.manager.streams.add({ name: stream, subjects: [`${subjectPrefix}.>`], max_consumers: 1 });
    await outbox.manager.consumers.add(stream, { durable_name: 'other', ack_policy: AckPolicy.Explicit });
    const broker = await open();
    expect(await publish(broker, claimed(1))).toEqual([{ kind: 'published', duplicate: false }]);
    expect(logs.filter(({ msg }) => msg.includes(`nats consumer add ${stream}`))).toHaveLength(1);
  });

  it('takes what a raised max_msg_size allows, and names size and limit of what it does not', async () => {
    const { stream, subjectPrefix } = outbox.config().nats;
    await outbox.manager.streams.add({ name: stream, subjects: [`${subjectPrefix}.>`], max_msg_size: 10_240 });
    const broker = await open();
    const large = { payload: JSON.stringify('x'.repeat(20_000)) };
    const refused = { kind: 'refused', reason: expect.stringMatching(/20\d{3} bytes .* takes 10240/) as string };
    expect(await publish(broker, claimed(1, large))).toEqual([refused]);
    await outbox.manager.streams.update(stream, { max_msg_size: 100_000 });
    expect(await publish(broker, claimed(1, large))).toEqual([{ kind: 'published', duplicate: false }]);
    await outbox.manager.streams.update(stream, { max_msg_size: 10_240 });
    expect(await publish(broker, claimed(1, large))).toEqual([refused]);
  });

  it.each(['core', 'jetstream'])('defers an event whose subject it may not publish to, in mode %s', async (mode) => {
    const own = new OwnServers();
    outbox.onClose(() => own.close());
    const nats = await own.nats();
    const denied = `${outbox.config().nats.subjectPrefix}.thing.Denied`;
    const broker = await open({ NATS_URL: nats.url.replace('nats://', 'nats://u:p@'), NATS_MODE: mode });
    appendFileSync(
      join(own.directory, 'n', 'nats.conf'),
      `authorization { users: [{ user: u, password: p, permissions: { publish: { deny: ["${denied}"] } } }] }\n`,
    );
    await nats.kill('SIGHUP');
    await eventually(async () => {
      const [one, two] = await publish(broker, [...claimed(1, { id: 'x', eventType: 'Denied' }), ...claimed(1)]);
      expect(one).toMatchObject({ kind: 'later', reason: expect.stringContaining('Permissions Violation') as string });
      return two?.kind === 'published';
    });
  });

  it('4,000 events that nobody answers are settled in the time of one slice', async () => {
    const { stream, subjectPrefix } = outbox.config().nats;
    await outbox.manager.streams.add({ name: stream, subjects: [`${subjectPrefix}.other.>`], allow_atomic: true });
    outbox.nats.subscribe(`${subjectPrefix}.thing.>`, { callback: () => undefined });
    await outbox.nats.flush();
    const broker = await open({ OUTBOX_PUBLISH_TIMEOUT_MS: '3000' });
    const started = performance.now();
    const outcomes = await publish(broker, claimed(4_000));
    // 6 s for the first thousand and none for the others; were each waited for, it would be 24 s on any machine.
    expect(performance.now() - started).toBeLessThan(20_000);
    expect(outcomes.map((outcome) => outcome?.kind)).toEqual(
      outcomes.map((_, index) => (index < 1_000 ? 'unanswered' : 'away')),
    );
  });

  async function open(settings: Settings = {}): Promise<Broker> {
    const write = (line: string) => void logs.push(JSON.parse(line) as (typeof logs)[number]);
    const broker = await openBroker(outbox.config(settings), pino({ level: 'debug', base: null }, { write }));
    outbox.onClose(() => broker.close());
    return broker;
  }
});

async function publish(broker: Broker, given: readonly ClaimedEvent[]): Promise<(Outcome | undefined)[]> {
  const outcomes = new Map<string, Outcome>();
  await broker.publish(given, (event, outcome) => outcomes.set(event.id, outcome));
  return given.map(({ id }) => outcomes.get(id));
}

function claimed(count: number, over: Partial<ClaimedEvent> = {}): ClaimedEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${index + 1}`,
    eventId: randomUUID(),
    eventType: 'ThingHappened',
    aggregateType: 'thing',
    aggregateId: 'a',
    companyId: null,
    orgUnitId: null,
    payload: `{"n": ${index}}`,
    headers: null,
    version: 1,
    correlationId: null,
    causationId: null,
    occurredAt: '2026-01-02T03:04:05.678000Z',
    deferrals: 0,
    failureReason: null,
    ...over,
  }));
}
