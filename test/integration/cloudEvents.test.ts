import { CloudEvent, HTTP } from 'cloudevents';
import { headers as newHeaders } from 'nats';
import { defineHandler, type HandledEvent } from '../../src/handlers/defineHandler';
import { decodeHeaderValue } from '../../src/broker/headers';
import { waitUntilHandled } from '../../src/waitUntilHandled';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox, type StoredMessage } from '../support/outbox';

let outbox: TestOutbox;
const handled: HandledEvent[] = [];
const collect = defineHandler({
  name: 'collect',
  events: ['ThingHappened', 'Shipped'],
  run: (arrived) => void handled.push(arrived),
});

beforeAll(async () => {
  outbox = await TestOutbox.create();
  await outbox.startWorker({ OUTBOX_CLOUDEVENTS_SOURCE: 'https://example.com/a%20b?c' }, { handlers: [collect] });
});
afterAll(() => outbox.close());

describe('a message in the stream', () => {
  it('is a valid CloudEvent to another implementation, with the payload as its data', async () => {
    const [eventId = ''] = await enqueue(outbox.db, [
      event({
        aggregateId: 'Zoë "7" 50 %',
        payload: { title: 'Amélie', n: 1 },
        correlationId: 'order 7',
        causationId: 'c1',
        occurredAt: new Date('2026-01-02T03:04:05.678Z'),
        headers: { 'ce-tenant': 'a "b"', note: 'kept' },
      }),
    ]);
    const parsed = read(await stored(eventId));
    expect(parsed.validate()).toBe(true);
    expect(parsed.toJSON()).toEqual({
      specversion: '1.0',
      id: eventId,
      source: 'https://example.com/a%20b?c',
      type: 'ThingHappened',
      time: '2026-01-02T03:04:05.678Z',
      subject: 'Zoë "7" 50 %',
      partitionkey: 'Zoë "7" 50 %',
      correlationid: 'order 7',
      causationid: 'c1',
      tenant: 'a "b"',
      datacontenttype: 'application/json',
      data: { title: 'Amélie', n: 1 },
    });
    // To its handlers it is the event that was enqueued, as over the backend `db`.
    await waitUntilHandled(outbox.db.pool, eventId, { schema: outbox.db.schema, timeoutMs: 60_000 });
    expect(handled.find((it) => it.eventId === eventId)?.headers).toEqual({ 'ce-tenant': 'a "b"', note: 'kept' });
  });

  it('is one too when the aggregate id is nothing that a CloudEvent may hold', async () => {
    const [id = ''] = await enqueue(outbox.db, [event({ aggregateId: 'a\nb' })]);
    const parsed = read(await stored(id));
    expect(parsed.validate()).toBe(true);
    expect(parsed.toJSON()).toMatchObject({ id, type: 'ThingHappened' });
    expect(parsed.subject).toBeUndefined();
  });

  it('has no attributes beside it when the application has put a whole CloudEvent into the body', async () => {
    const whole = new CloudEvent({ source: '/mine', type: 'my.type', data: { n: 1 } });
    const headers = { 'content-type': 'application/cloudevents+json' };
    const [id = ''] = await enqueue(outbox.db, [event({ headers, payload: whole.toJSON() })]);
    const message = await stored(id);
    expect(Object.keys(message.headers).filter((name) => name.startsWith('ce-'))).toEqual([]);
    expect(read(message).toJSON()).toEqual(whole.toJSON());
  });

  it('has the attributes of the record, whatever somebody wrote into its headers by SQL', async () => {
    const { rows } = await outbox.db.query<{ event_id: string }>(
      `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload, headers)
       VALUES (gen_random_uuid(), 'ThingHappened', 'thing', 'a', '1', '{"ce-id": "forged", "Ce-Type": "forged"}') RETURNING event_id`,
    );
    const id = rows[0]?.event_id ?? '';
    const { headers } = await stored(id);
    expect(headers['ce-id']).toBe(id);
    expect(JSON.stringify(headers)).not.toContain('forged');
  });
});

describe('a CloudEvent of another publisher', () => {
  const publish = (attributes: Record<string, string>, body = '{"n": 12345678901234567890}') => {
    const headers = newHeaders();
    for (const [name, value] of Object.entries(attributes)) headers.append(name, value);
    outbox.nats.publish(`${outbox.config().nats.subjectPrefix}.parcel.any`, body, { headers });
  };

  it('is taken by its attributes', async () => {
    publish({
      'ce-specversion': '1.0',
      'ce-id': 'A-1',
      'ce-source': '/warehouse',
      'ce-type': 'Shipped',
      'ce-subject': 'parcel%20%E2%82%AC7',
      'ce-time': '2026-03-04T05:06:07+02:00',
      'ce-correlationid': '"order \\"7\\""',
      'ce-causationid': 'x',
    });
    await eventually(() => handled.some(({ type }) => type === 'Shipped'), 60_000);
    expect(handled.find(({ type }) => type === 'Shipped')).toMatchObject({
      aggregateType: 'parcel',
      aggregateId: 'parcel €7',
      occurredAt: '2026-03-04T05:06:07+02:00',
      correlationId: 'order "7"',
      causationId: 'x',
      payload: { n: 12345678901234567890n },
      headers: { 'ce-source': '/warehouse', 'ce-type': 'Shipped' },
    });
  });

  it('is handled once, however often it is published: source and id are its identity', async () => {
    const shipped = (id: string, source: string) =>
      publish({ 'Ce-Specversion': '1.0', 'Ce-Id': id, 'Ce-Source': source, 'Ce-Type': 'Shipped', 'Ce-Subject': id });
    for (const [id, source] of [['B-1', '/x'], ['B-1', '/x'], ['B-1', '/y'], ['B-2', '/x']] as const) shipped(id, source); // prettier-ignore
    const taken = () => handled.filter(({ aggregateId }) => aggregateId.startsWith('B-'));
    await eventually(() => taken().some(({ aggregateId }) => aggregateId === 'B-2'), 60_000);
    await eventually(async () => (await outbox.manager.consumers.info(outbox.config().nats.stream, outbox.config().nats.durable)).num_ack_pending === 0, 60_000); // prettier-ignore
    expect(taken().map(({ aggregateId }) => aggregateId).sort()).toEqual(['B-1', 'B-1', 'B-2']); // prettier-ignore
    expect(new Set(taken().map(({ eventId }) => eventId)).size).toBe(3);
  });
});

async function stored(eventId: string): Promise<StoredMessage> {
  return eventually(async () => (await outbox.messages()).find((it) => it.eventId === eventId), 60_000);
}

/** The SDK has no binding for NATS; that of HTTP is the same but for the content type, and leaves decoding to a server. */
function read({ headers, body }: StoredMessage): CloudEvent {
  const decoded = Object.entries(headers).map(([name, value]) => [name, decodeHeaderValue(value)]);
  const parsed = HTTP.toEvent({ headers: Object.fromEntries(decoded) as Record<string, string>, body });
  if (Array.isArray(parsed)) throw new Error('one message is one event');
  return parsed as CloudEvent;
}
