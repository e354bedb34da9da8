import { context, createContextKey, propagation, type Context, type ContextManager } from '@opentelemetry/api';
import { type } from 'arktype';
import fc from 'fast-check';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Client } from 'pg';
import * as v from 'valibot';
import { z } from 'zod';
import { EnqueueError } from '../../src/errors';
import type { NewEvent } from '../../src/event';
import { defineEvent } from '../../src/handlers/defineEvent';
import { defineHandler } from '../../src/handlers/defineHandler';
import { enqueueEvents, type EnqueueOptions } from '../../src/outbox/enqueue';
import { measureJson } from '../../src/outbox/measureJson';
import { wakeChannel } from '../../src/postgres/channel';
import { cloneDatabase, emptyDatabase, producerOf, type TestDatabase } from '../support/database';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import '../support/printedRoles';
import { rawJson } from '../support/rawJson';

const LONG = process.env.OUTBOX_TEST_LONG === 'on';
/** Shortened from 5,000. */
const PROPERTY_RUNS = LONG ? 5_000 : 400;

let database: TestDatabase;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

async function inTransaction<T>(work: (client: Client) => Promise<T>, end: 'COMMIT' | 'ROLLBACK' = 'COMMIT') {
  const client = new Client({ connectionString: database.producerUrl });
  await client.connect();
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query(end);
    return result;
  } finally {
    await client.end();
  }
}

async function storedIds(ids: readonly string[]): Promise<string[]> {
  const { rows } = await database.db.query<{ event_id: string }>(
    'SELECT event_id FROM :schema.event_queue WHERE event_id = ANY ($1) ORDER BY id',
    [ids],
  );
  return rows.map((row) => row.event_id);
}

describe('enqueueEvents', () => {
  it('joins the transaction of the caller: nobody else sees the events before its commit', async () => {
    const { schema } = database;
    const ids = await inTransaction(async (client) => {
      const given = await enqueueEvents(client, [event()], { schema });
      expect(await storedIds(given)).toEqual([]);
      return given;
    });
    expect(await storedIds(ids)).toEqual(ids);
  });

  it('leaves nothing behind when the caller rolls back', async () => {
    const { schema } = database;
    const ids = await inTransaction((client) => enqueueEvents(client, events(3), { schema }), 'ROLLBACK');
    expect(ids).toHaveLength(3);
    expect(await storedIds(ids)).toEqual([]);
  });

  it('leaves the transaction usable after a refusal, since that came before any SQL', async () => {
    const { schema } = database;
    const ids = await inTransaction(async (client) => {
      await expect(enqueueEvents(client, [event(), event({ payload: '\u0000' })], { schema })).rejects.toThrow(
        EnqueueError,
      );
      return enqueueEvents(client, [event()], { schema });
    });
    expect(await storedIds(ids)).toEqual(ids);
  });

  it('writes any number of events with one statement, in the order given, and returns their ids in that order', async () => {
    const { schema, db } = database;
    let statements = 0;
    const counting = {
      query: (text: string, values?: unknown[]) => {
        statements++;
        return producerOf(db).pool.query(text, values);
      },
    };
    const own = '00000000-0000-4000-8000-00000000abcd';
    const given = events(2_000, (index) => (index === 7 ? { eventId: own.toUpperCase() } : {}));
    const ids = await enqueueEvents(counting, given, { schema });
    expect(statements).toBe(1);
    expect(ids[7]).toBe(own);
    const { rows } = await db.query<{ event_id: string; n: number }>(
      `SELECT event_id, (payload->>'n')::integer AS n FROM :schema.event_queue WHERE event_id = ANY ($1)
        ORDER BY available_at, id`,
      [ids],
    );
    expect(rows).toEqual(ids.map((id, n) => ({ event_id: id, n })));
  });

  it('stores every field, and fills in what is not given', async () => {
    const full: NewEvent = {
      type: 'Full',
      aggregateType: 'thing',
      aggregateId: 'id with blank, ü and 🎬',
      payload: { a: 1 },
      eventId: '00000000-0000-4000-8000-00000000aaaa',
      version: 3,
      companyId: '00000000-0000-4000-8000-00000000bbbb',
      orgUnitId: '00000000-0000-4000-8000-00000000cccc',
      correlationId: 'c',
      causationId: 'd',
      headers: { 'x-user': 'é' },
      occurredAt: new Date('2020-02-29T23:59:59.999Z'),
      availableAt: new Date('2999-12-31T00:00:00Z'),
    };
    const ids = await enqueue(database.db, [full, event({ aggregateId: 'bare' })]);
    const { rows } = await database.db.query(
      `SELECT *, occurred_at > clock_timestamp() - interval '1 minute' AS now,
              available_at <= clock_timestamp() AS due FROM :schema.event_queue WHERE event_id = ANY ($1) ORDER BY id`,
      [ids],
    );
    expect(rows).toMatchObject([
      {
        event_type: 'Full',
        aggregate_type: 'thing',
        aggregate_id: full.aggregateId,
        payload: { a: 1 },
        event_id: full.eventId,
        version: 3,
        company_id: full.companyId,
        org_unit_id: full.orgUnitId,
        correlation_id: 'c',
        causation_id: 'd',
        headers: { 'x-user': 'é' },
        occurred_at: full.occurredAt,
        available_at: full.availableAt,
        status: 'pending',
        attempts: 0,
        deferrals: 0,
      },
      {
        version: 1,
        company_id: null,
        correlation_id: null,
        headers: null,
        now: true,
        due: true,
      },
    ]);
  });

  it('gives the events of one long transaction the times of their writing, not that of its beginning', async () => {
    const { schema, db } = database;
    const ids = await inTransaction(async (client) => {
      const [first] = await enqueueEvents(client, [event()], { schema });
      const [between] = await enqueue(db, [event()]);
      const [last] = await enqueueEvents(client, [event()], { schema });
      return [first!, between!, last!];
    });
    const { rows } = await db.query<{ event_id: string }>(
      'SELECT event_id FROM :schema.event_queue WHERE event_id = ANY ($1) ORDER BY available_at, id',
      [ids],
    );
    expect(rows.map((row) => row.event_id)).toEqual(ids);
  });
});

describe('an event with a definition', () => {
  it.each([
    ['zod', z.object({ email: z.email(), seen: z.number().default(0) })],
    ['an asynchronous zod', z.object({ email: z.email().refine((mail) => Promise.resolve(mail !== 'x')) })],
    ['valibot', v.object({ email: v.pipe(v.string(), v.email()), seen: v.optional(v.number(), 0) })],
    ['arktype', type({ email: 'string.email', seen: 'number = 0' })],
  ])(
    'is checked by %s before any SQL: nothing of a refused call is written, and the transaction goes on',
    async (_name, schema) => {
      const { schema: at, db } = database;
      const definition = defineEvent('Joined', { aggregateType: 'user', version: 2, schema });
      const joined = (email: string) => definition.event({ aggregateId: 'u', payload: { email } });
      const { good, before } = await inTransaction(async (client) => {
        const before = await enqueueEvents(client, [event()], { schema: at });
        const refusal: unknown = await enqueueEvents(client, [joined('a@home.example'), joined('ann at secret')], {
          schema: at,
        }).catch((error: unknown) => error);
        expect(refusal).toBeInstanceOf(EnqueueError);
        expect(refusal).toMatchObject({ kind: 'invalid-payload', index: 1 });
        expect((refusal as EnqueueError).message).toMatch(/the schema of Joined: email: ./);
        expect((refusal as EnqueueError).message).not.toMatch(/ann|secret/);
        return { before, good: await enqueueEvents(client, [joined('b@home.example')], { schema: at }) };
      });
      expect(await storedIds([...before, ...good])).toEqual([...before, ...good]);
      const { rows } = await db.query(
        `SELECT event_type, aggregate_type, version, payload FROM :schema.event_queue
        WHERE event_id = ANY ($1) OR payload->>'email' = 'a@home.example'`,
        [good],
      );
      // The payload as it was given: without what the validator would have filled in.
      expect(rows).toEqual([
        { event_type: 'Joined', aggregate_type: 'user', version: 2, payload: { email: 'b@home.example' } },
      ]);
    },
  );
});

describe('the wake-up', () => {
  let listener: Client;
  const heard: string[] = [];

  beforeAll(async () => {
    listener = new Client({ connectionString: database.url });
    await listener.connect();
    listener.on('notification', ({ channel }) => heard.push(channel));
    await listener.query(`LISTEN ${wakeChannel(database.schema)}`);
    await listener.query('LISTEN fence');
  });
  afterAll(() => listener.end());

  /** Notifications arrive in the order of their commits, so what was sent before the fence has been heard by then. */
  async function wakeUpsOf(work: () => Promise<unknown>): Promise<number> {
    heard.length = 0;
    await work();
    const fence = new Promise<void>((resolve) => {
      const hear = ({ channel }: { channel: string }) => {
        if (channel !== 'fence') return;
        listener.off('notification', hear);
        resolve();
      };
      listener.on('notification', hear);
    });
    await database.db.query('NOTIFY fence');
    await fence;
    return heard.filter((channel) => channel !== 'fence').length;
  }

  const threeCalls = (options: EnqueueOptions = {}, end: 'COMMIT' | 'ROLLBACK' = 'COMMIT') =>
    inTransaction(async (client) => {
      const { schema } = database;
      for (let call = 0; call < 3; call++) await enqueueEvents(client, events(10), { schema, ...options });
    }, end);

  it('is sent once for a transaction, however often it enqueued', async () => {
    expect(await wakeUpsOf(() => threeCalls())).toBe(1);
    expect(await wakeUpsOf(() => threeCalls().then(() => threeCalls()))).toBe(2);
  });

  it('is not sent by a transaction that rolls back', async () => {
    expect(await wakeUpsOf(() => threeCalls({}, 'ROLLBACK'))).toBe(0);
  });

  it('is not sent with `wake: false`', async () => {
    expect(await wakeUpsOf(() => threeCalls({ wake: false }))).toBe(0);
  });

  it('is not sent with OUTBOX_NOTIFY=off, unless the call asks for it', async () => {
    process.env.OUTBOX_NOTIFY = 'off';
    try {
      expect(await wakeUpsOf(() => threeCalls())).toBe(0);
      expect(await wakeUpsOf(() => threeCalls({ wake: true }))).toBe(1);
    } finally {
      delete process.env.OUTBOX_NOTIFY;
    }
  });
});

describe('the trace context', () => {
  const SPAN = createContextKey('span');
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT,
    with: (active, work, self, ...args) => storage.run(active, () => work.call(self as never, ...args)),
    bind: (_active, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  const ROOT = context.active();

  beforeAll(() => {
    context.setGlobalContextManager(manager);
    propagation.setGlobalPropagator({
      fields: () => ['traceparent', 'baggage'],
      extract: (active) => active,
      inject: (active, carrier, setter) => {
        const span = active.getValue(SPAN);
        if (typeof span !== 'string') return;
        setter.set(carrier, 'traceparent', span);
        setter.set(carrier, 'tracestate', 'a=1');
        setter.set(carrier, 'ce-id', 'not for a propagator to say');
        setter.set(carrier, 'nats-expected-stream', 'not for a propagator to say');
        setter.set(carrier, 'baggage', `k=${'v'.repeat(20_000)}`);
      },
    });
  });
  afterAll(() => {
    context.disable();
    propagation.disable();
  });

  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const headersFrom = async (over: Partial<NewEvent>) => {
    const span = ROOT.setValue(SPAN, traceparent);
    const ids = await context.with(span, () => enqueue(database.db, [event(over)]));
    const { rows } = await database.db.query<{ headers: unknown }>(
      'SELECT headers FROM :schema.event_queue WHERE event_id = ANY ($1)',
      [ids],
    );
    return rows[0]?.headers;
  };

  it('is stored with the event, beside its own headers', async () => {
    expect(await headersFrom({ headers: { a: 'b' } })).toEqual({ a: 'b', traceparent, tracestate: 'a=1' });
  });

  it('gives way to a traceparent of the caller, to which the state of another trace does not belong', async () => {
    expect(await headersFrom({ headers: { traceparent: 'mine' } })).toEqual({ traceparent: 'mine' });
    expect(await headersFrom({ headers: { Traceparent: 'mine' } })).toEqual({ Traceparent: 'mine' });
    expect(await headersFrom({ headers: { Tracestate: 'b=2' } })).toEqual({ traceparent, Tracestate: 'b=2' });
  });

  it('never makes an event too large: baggage that does not fit is left out', async () => {
    expect(await headersFrom({})).toEqual({ traceparent, tracestate: 'a=1' });
  });

  it('is not there without an active span', async () => {
    const ids = await enqueue(database.db, [event()]);
    const { rows } = await database.db.query('SELECT headers FROM :schema.event_queue WHERE event_id = ANY ($1)', [
      ids,
    ]);
    expect(rows).toEqual([{ headers: null }]);
  });
});

describe('any JSON value', () => {
  /** Any UTF-16 code unit, with NUL and half characters more often than by chance. */
  const unit = fc.oneof(
    { weight: 20, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
    { weight: 5, arbitrary: fc.constantFrom('"', '\\', '\u0001', '\u007f', '\u2028', '٣', 'ش', '🎬', ',', ':') },
    { weight: 1, arbitrary: fc.constantFrom('\u0000', '\ud800', '\udfff') },
  );

  it(`is stored equal or refused with an EnqueueError, and never larger than the limit (${PROPERTY_RUNS} values)`, async () => {
    const { schema, db } = database;
    const seen = { stored: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ stringUnit: unit, depthSize: 'large' }), async (payload) => {
        let ids: string[];
        try {
          ids = await enqueueEvents(producerOf(db).pool, [event({ payload })], {
            schema,
            wake: false,
            maxPayloadBytes: 1_500,
          });
        } catch (error) {
          if (!(error instanceof EnqueueError)) throw error;
          seen.refused++;
          return;
        }
        const { rows } = await db.query<{ text: string; bytes: number }>(
          'SELECT payload::text AS text, payload_bytes AS bytes FROM :schema.event_queue WHERE event_id = ANY ($1)',
          [ids],
        );
        // JSON has no -0: what JSON.stringify makes of the value is the value that was asked to be stored.
        expect(JSON.parse(rows[0]!.text)).toEqual(JSON.parse(JSON.stringify(payload)));
        expect(rows[0]!.bytes).toBeLessThanOrEqual(1_500);
        expect(Buffer.byteLength(rows[0]!.text)).toBe(rows[0]!.bytes);
        seen.stored++;
      }),
      { numRuns: PROPERTY_RUNS },
    );
    expect(seen.stored).toBeGreaterThan(PROPERTY_RUNS / 4);
    expect(seen.refused).toBeGreaterThan(0);
  });

  it('that is a number of raw JSON is stored digit for digit as PostgreSQL prints it, or refused before any SQL', async () => {
    const { schema, db } = database;
    const digits = (maxLength: number) => fc.array(fc.constantFrom(...'0123456789'), { minLength: 1, maxLength }).map((all) => all.join(''));
    const number = fc
      .tuple(
        fc.constantFrom('', '-'),
        digits(17).map((text) => text.replace(/^0+(?=\d)/, '')),
        fc.option(fc.oneof({ weight: 9, arbitrary: digits(40) }, fc.constantFrom('1'.repeat(16_383), '1'.repeat(16_384)))),
        fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-', 'e-00'), fc.oneof(fc.nat(400), fc.integer({ min: 16_340, max: 16_400 }), fc.constant('9'.repeat(30))))),
      )
      .map(([sign, whole, decimals, power]) => `${sign}${whole}${decimals === null ? '' : `.${decimals}`}${power === null ? '' : power.join('')}`);
    const seen = { stored: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(number, async (text) => {
        const measured = { maxPayloadBytes: 20_000, schema, wake: false };
        let ids: string[];
        try {
          ids = await enqueueEvents(producerOf(db).pool, [event({ payload: [rawJson(text)] })], measured);
        } catch (error) {
          if (!(error instanceof EnqueueError)) throw error;
          seen.refused++;
          return;
        }
        const { rows } = await db.query<{ kept: string; said: string; bytes: number }>(
          `SELECT payload::text AS kept, '[' || $2::numeric || ']' AS said, payload_bytes AS bytes
             FROM :schema.event_queue WHERE event_id = ANY ($1)`,
          [ids, text],
        );
        expect(rows[0]?.kept).toBe(rows[0]?.said);
        expect(rows[0]?.bytes).toBeLessThanOrEqual(measureJson(`[${text}]`).bytes);
        seen.stored++;
      }),
      { numRuns: PROPERTY_RUNS, examples: [['1234567890123456.789'], ['0e16383'], ['0e16384'], ['1e-16383'], ['1e-16384']] },
    );
    expect(seen.stored).toBeGreaterThan(PROPERTY_RUNS / 10);
    expect(seen.refused).toBeGreaterThan(0);
  }); // prettier-ignore

  it('is stored at the deepest nesting that is accepted, which is far from what PostgreSQL refuses', async () => {
    const { schema, db } = database;
    const nested = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);
    const ids = await enqueueEvents(producerOf(db).pool, [event({ payload: JSON.parse(nested(1_000)) as unknown })], {
      schema,
    });
    expect(await storedIds(ids)).toEqual(ids);
    await expect(db.query('SELECT $1::jsonb', [nested(5_000)])).resolves.toBeDefined();
  });
});

describe.each(['nats', 'db'])('payloads on their way to handlers, backend %s', (backend) => {
  let outbox: TestOutbox;
  const handled = new Map<string, unknown>();
  beforeAll(async () => {
    handled.clear();
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend });
    const reader = defineHandler({
      name: 'reader',
      events: ['ThingHappened', 'Raw'],
      run: ({ eventId, payload }) => void handled.set(eventId, payload),
    });
    await outbox.startWorker({}, { handlers: [reader] });
  });
  afterAll(() => outbox.close());

  /** What the handler got, and the bodies of the messages where there is a broker. */
  async function arrived(ids: readonly string[]) {
    await outbox.allDone();
    await eventually(() => ids.every((id) => handled.has(id)), undefined, 'all handled');
    const stored = backend === 'nats' ? await outbox.messages() : [];
    const bodies = new Map(stored.map(({ eventId, body }) => [eventId, body]));
    return { payloads: ids.map((id) => handled.get(id)), bodies: stored.length > 0 && ids.map((id) => bodies.get(id)) };
  }

  it('arrays, scalars, null, emoji and right-to-left text arrive equal (C13)', async () => {
    const payloads = [
      [1, 'a', null],
      [],
      {},
      'text',
      '',
      42,
      0,
      -1.5,
      false,
      true,
      null,
      Number.MAX_SAFE_INTEGER,
      { n: 1.1, deep: [[[{ '': [] }]]] },
      '🎬👩‍👩‍👧‍👦 שלום עולم مرحبا \u202e\u2028"\\\n\u0001',
      { 'clé 🎥': 'é' },
    ];
    const ids = await enqueue(
      outbox.db,
      payloads.map((payload) => event({ payload })),
    );
    const got = await arrived(ids);
    expect(got.payloads).toEqual(payloads);
    if (got.bodies) expect(got.bodies.map((body) => JSON.parse(body ?? 'undefined') as unknown)).toEqual(payloads);
  });

  it('numbers that JavaScript would round arrive digit for digit, and no handler sees one rounded (C13)', async () => {
    const raw = ['{"id": 9007199254740993}', '{"n": 1.10}', '-123456789012345678901234567890.10', '[1.0, 0.10e2]'];
    const { rows } = await outbox.db.query<{ event_id: string; text: string }>(
      `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload)
       SELECT gen_random_uuid(), 'Raw', 'thing', 'a', raw::jsonb FROM unnest($1::text[]) AS raw
       RETURNING event_id, payload::text AS text`,
      [raw],
    );
    expect(rows.map(({ text }) => text)).toEqual([...raw.slice(0, 3), '[1.0, 10]']);
    const got = await arrived(rows.map(({ event_id }) => event_id));
    if (got.bodies) expect(got.bodies).toEqual(rows.map(({ text }) => text));
    const [id, fraction, , list] = got.payloads;
    expect([id, fraction, list]).toEqual([{ id: 9007199254740993n }, { n: 1.1 }, [1, 10]]);
  });
});

it('names the command that makes the tables, where there are none', async () => {
  const empty = await emptyDatabase();
  await expect(enqueue(empty.db, [event()])).rejects.toThrow('run `outbox migrate` first');
  await empty.drop();
});
