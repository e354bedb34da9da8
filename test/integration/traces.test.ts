import { context, propagation, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { headers as newHeaders, TimeoutError } from 'nats';
import { randomUUID } from 'node:crypto';
import { defineHandler, type Handler } from '../../src/handlers/defineHandler';
import { enqueueEvents } from '../../src/outbox/enqueue';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows } from '../support/handled';
import { TestOutbox, type Settings } from '../support/outbox';
import { Tracing } from '../support/tracing';

const SECRET = 'card 4111 1111';

let tracing: Tracing;
beforeAll(() => {
  tracing = new Tracing();
});
afterAll(() => tracing.close());

const BACKENDS: Record<string, Settings> = {
  db: { EVENT_BUS_BACKEND: 'db' },
  nats: { EVENT_BUS_BACKEND: 'nats' },
  'nats, core': { EVENT_BUS_BACKEND: 'nats', NATS_MODE: 'core' },
};

describe.each(Object.keys(BACKENDS))('backend %s: the context in which an event is enqueued', (backend) => {
  let outbox: TestOutbox;
  const settings: Settings = {
    ...BACKENDS[backend],
    EVENT_QUEUE_MAX_ATTEMPTS: '3',
    OUTBOX_BACKOFF_FIRST_MS: '50',
  };
  const named = (operation: string, type = 'ThingHappened') =>
    `${operation} ${outbox.config().nats.subjectPrefix}.thing.${type}`;

  beforeEach(async () => {
    tracing.clear();
    outbox = await TestOutbox.create(settings);
  });
  afterEach(() => outbox.close());

  const start = async (handlers: readonly Handler[], redactFailure?: (message: string) => string) => {
    await outbox.startWorker({}, { handlers, ...(redactFailure && { redactFailure }) });
    if (backend === 'nats, core') await eventually(() => isHeard(outbox), 100_000, 'a subscription');
  };

  it.each([true, false])('is the parent of its handler, and goes on from there (transactional: %s)', async (tx) => {
    const follow = (q: Parameters<typeof enqueueEvents>[0]) =>
      enqueueEvents(q, [event({ type: 'ThingFollowed' })], { schema: outbox.db.schema });
    const seen: { span: string | undefined; tenant: string | undefined }[] = [];
    const look = () => {
      const span = trace.getActiveSpan()?.spanContext().spanId;
      seen.push({ span, tenant: propagation.getActiveBaggage()?.getEntry('tenant')?.value });
      trace.getTracer('application').startSpan('inner').end();
    };
    const first = tx
      ? defineHandler({
          ...{ name: 'first', events: ['ThingHappened'], transactional: true },
          run: async (_event, { tx }) => {
            look();
            await follow(tx);
          },
        })
      : defineHandler({
          ...{ name: 'first', events: ['ThingHappened'] },
          run: async () => {
            await new Promise((resolve) => setTimeout(resolve, 5));
            look();
            await follow(outbox.db.pool);
          },
        });
    const second = defineHandler({ name: 'second', events: ['ThingFollowed'], run: look });
    await start([first, second]);

    const baggage = propagation.createBaggage({ tenant: { value: 'a b' } });
    const request = await context.with(propagation.setBaggage(context.active(), baggage), () =>
      tracing.within('request', () => enqueue(outbox.db, [event({ correlationId: 'c 1' })])),
    );
    const [handled] = await tracing.ended(named('process'), 1);
    const [followed] = await tracing.ended(named('process', 'ThingFollowed'), 1);
    expect(traceOf(handled)).toEqual({ traceId: request.traceId, parent: request.spanId });
    expect(traceOf(followed)).toEqual({ traceId: request.traceId, parent: handled?.spanContext().spanId });
    expect(handled?.kind).toBe(SpanKind.CONSUMER);
    expect(handled?.status.code).toBe(SpanStatusCode.UNSET);
    expect(handled?.attributes).toEqual({
      'messaging.system': backend === 'db' ? 'temporal_outbox' : 'nats',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': `${outbox.config().nats.subjectPrefix}.thing.ThingHappened`,
      'messaging.consumer.group.name': 'first',
      'messaging.message.id': request.result[0],
      'messaging.message.conversation_id': 'c 1',
      'outbox.attempt': 1,
    });
    expect(seen).toEqual([
      { span: handled?.spanContext().spanId, tenant: 'a b' },
      { span: followed?.spanContext().spanId, tenant: 'a b' },
    ]);
    expect(tracing.spans('inner').map((span) => span.parentSpanContext?.spanId)).toEqual(seen.map(({ span }) => span));
    if (backend !== 'db') {
      const [published] = await tracing.ended(named('publish'), 1);
      expect(traceOf(published)).toEqual({ traceId: request.traceId, parent: request.spanId });
      expect(published?.kind).toBe(SpanKind.CLIENT);
      expect(published?.status.code).toBe(SpanStatusCode.UNSET);
    }
    if (backend === 'nats') {
      const [message] = await outbox.messages();
      expect(message?.headers).toMatchObject({
        traceparent: `00-${request.traceId}-${request.spanId}-01`,
        'ce-traceparent': `00-${request.traceId}-${request.spanId}-01`,
        baggage: 'tenant=a%2520b',
      });
    }
  });

  it('is the parent of each attempt, also after a re-emit, and a failure is told as it is stored', async () => {
    let calls = 0;
    let healthyFrom = Infinity;
    const flaky = defineHandler({
      name: 'flaky',
      events: ['ThingHappened'],
      run: () => {
        if (++calls < healthyFrom) throw new TypeError(`${SECRET} was refused`);
      },
    });
    const redactFailure = (message: string) => message.replaceAll(SECRET, '[card]');
    await start([flaky], redactFailure);
    const request = await tracing.within('request', () =>
      enqueue(outbox.db, [event({ payload: SECRET, aggregateId: 'aggregate of somebody' })]),
    );
    await eventually(async () => (await deliveryRows(outbox.db)).some(({ state }) => state === 'dead'), 100_000);
    const [delivery] = await deliveryRows(outbox.db);
    healthyFrom = 5;
    await outbox.relay().executeUpdate('reemit', { args: [{ ids: request.result }] });
    const attempts = await tracing.ended(named('process'), 5);
    expect(attempts.map(traceOf)).toEqual(Array(5).fill({ traceId: request.traceId, parent: request.spanId }));
    expect(attempts.map(({ attributes }) => attributes['outbox.attempt'])).toEqual([1, 2, 3, 1, 2]);
    const failed = { code: SpanStatusCode.ERROR, message: delivery?.failure_reason };
    expect(delivery?.failure_reason).toBe('[card] was refused');
    expect(attempts.map(({ status }) => status)).toEqual([...Array<unknown>(4).fill(failed), { code: 0 }]);
    expect(attempts.map(({ attributes }) => attributes['error.type'])).toEqual([...Array<unknown>(4).fill('TypeError'), undefined]); // prettier-ignore
    const told = JSON.stringify(tracing.all().map(({ name, attributes, events, status }) => ({ name, attributes, events, status }))); // prettier-ignore
    expect(told).not.toContain('4111');
    expect(told).not.toContain('somebody');
  });

  it('keeps its decision not to be sampled, for the handler and for what that enqueues', async () => {
    const seen: (number | undefined)[] = [];
    const first = defineHandler({
      name: 'first',
      events: ['ThingHappened', 'ThingFollowed'],
      run: async ({ type }) => {
        seen.push(trace.getActiveSpan()?.spanContext().traceFlags);
        if (type === 'ThingHappened') await enqueue(outbox.db, [event({ type: 'ThingFollowed' })]);
      },
    });
    await start([first]);
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const unsampled = trace.setSpanContext(context.active(), {
      ...{ traceId, spanId: 'b7ad6b7169203331', traceFlags: TraceFlags.NONE },
    });
    await context.with(unsampled, () => enqueue(outbox.db, [event()]));
    await allHandled(outbox.db, 'first', 2);
    expect(seen).toEqual([TraceFlags.NONE, TraceFlags.NONE]);
    expect(tracing.all()).toEqual([]);
    const { rows } = await outbox.db.query<{ traceparent: string }>(
      `SELECT headers->>'traceparent' AS traceparent FROM :schema.event_queue ORDER BY id`,
    );
    expect(rows[0]?.traceparent).toBe(`00-${traceId}-b7ad6b7169203331-00`);
    expect(rows[1]?.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  });

  it('harms nothing when what is stored of it is no context: the handler begins a trace of its own', async () => {
    const calm = defineHandler({ name: 'calm', events: ['ThingHappened'], run: () => undefined });
    await start([calm]);
    const stored = ['', 'x', '00-0-0-01', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`, `ff-${'a'.repeat(10_000)}`];
    await enqueue(outbox.db, stored.map((traceparent) => event({ aggregateId: randomUUID(), headers: { traceparent } }))); // prettier-ignore
    const spans = await tracing.ended(named('process'), stored.length);
    expect(spans.map((span) => span.parentSpanContext)).toEqual(stored.map(() => undefined));
    await allHandled(outbox.db, 'calm', stored.length);
  });
});

describe('an event of another publisher', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    tracing.clear();
    outbox = await TestOutbox.create({ OUTBOX_BACKOFF_FIRST_MS: '50' });
  });
  afterEach(() => outbox.close());

  it.each(['traceparent', 'Traceparent', 'ce-traceparent'])(
    'brings its context in %s, also to the attempts of its delivery run, which has only a copy',
    async (header) => {
      let calls = 0;
      const late = defineHandler({
        name: 'late',
        events: ['Arrived'],
        run: () => {
          if (++calls < 3) throw new Error('not yet');
        },
      });
      await outbox.startWorker({}, { handlers: [late] });
      const headers = newHeaders();
      headers.append('ce-specversion', '1.0');
      headers.append('ce-id', '7');
      headers.append('ce-source', '/elsewhere');
      headers.append('ce-type', 'Arrived');
      headers.append(header, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
      const subject = `${outbox.config().nats.subjectPrefix}.parcel.any`;
      outbox.nats.publish(subject, '{}', { headers });
      const spans = await tracing.ended(`process ${outbox.config().nats.subjectPrefix}.parcel.Arrived`, 3);
      const parent = { traceId: '0af7651916cd43dd8448eb211c80319c', parent: 'b7ad6b7169203331' };
      expect(spans.map(traceOf)).toEqual([parent, parent, parent]);
      expect(spans.map(({ attributes }) => attributes['outbox.attempt'])).toEqual([1, 2, 3]);
      await allHandled(outbox.db, 'late', 1);
    },
  );
});

describe('the publish of an event that the broker does not take', () => {
  it('is a span that failed, with the reason', async () => {
    tracing.clear();
    const outbox = await TestOutbox.create();
    try {
      const { stream, subjectPrefix } = outbox.config().nats;
      await outbox.startWorker();
      const info = await outbox.manager.streams.info(stream);
      await outbox.manager.streams.update(stream, { ...info.config, max_msg_size: 1_000 });
      const request = await tracing.within('request', () => enqueue(outbox.db, [event({ payload: 'x'.repeat(2_000) })]));
      const [span] = await tracing.ended(`publish ${subjectPrefix}.thing.ThingHappened`, 1);
      expect(traceOf(span)).toEqual({ traceId: request.traceId, parent: request.spanId });
      expect(span?.attributes['error.type']).toBe('refused');
      expect(span?.status).toMatchObject({ code: SpanStatusCode.ERROR, message: expect.stringMatching(/1000$/) as string });
    } finally {
      await outbox.close();
    }
  }); // prettier-ignore
});

/** Core NATS hands nothing to who subscribes later: without anybody there, a request is refused at once. */
async function isHeard(outbox: TestOutbox): Promise<boolean> {
  try {
    await outbox.nats.request(`${outbox.config().nats.subjectPrefix}.probe.Probe`, '', { timeout: 500 });
    return true;
  } catch (error) {
    return error instanceof TimeoutError;
  }
}

function traceOf(span: ReadableSpan | undefined) {
  return { traceId: span?.spanContext().traceId, parent: span?.parentSpanContext?.spanId };
}
