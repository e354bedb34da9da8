import type { Client } from 'pg';
import { z } from 'zod';
import { HandlerError } from '../../src/errors';
import { defineEvent } from '../../src/handlers/defineEvent';
import {
  DEFAULT_HANDLER_TIMEOUT_MS,
  defineHandler,
  RESERVED_ACTIVITY_NAMES,
  type Handler,
  type Transaction,
} from '../../src/handlers/defineHandler';
import { HandlerRegistry } from '../../src/handlers/registry';
import { enqueueEvents } from '../../src/outbox/enqueue';

const placed = defineEvent('OrderPlaced', { schema: z.object({ at: z.coerce.date(), total: z.number() }) });
const cancelled = defineEvent('OrderCancelled', { schema: z.object({ why: z.string() }) });
const run = () => undefined;

/** The types are what is tested; none of these handlers runs. */
const typed = [
  defineHandler({
    name: 'mail',
    events: [placed, cancelled, 'Untyped'],
    run: async (event, { signal, idempotencyKey, attempt }) => {
      const key: string = idempotencyKey;
      const times: number = attempt;
      if (event.type === 'OrderPlaced') {
        const at: Date = event.payload.at;
        // @ts-expect-error -- that is the other event's
        const why: unknown = event.payload.why;
        return [at, why];
      }
      if (event.type === 'OrderCancelled') return [event.payload.why.length, signal.aborted, key, times];
      const name: 'Untyped' = event.type;
      // @ts-expect-error -- nobody said what it holds
      const total: number = event.payload.total;
      return Promise.resolve([name, total]);
    },
  }),
  defineHandler({
    name: 'project',
    events: [placed],
    transactional: true,
    run: async (event, { tx, signal, attempt }) => {
      const { rows, rowCount } = await tx.query('SELECT $1', [event.payload.total]);
      await tx.query({ text: 'SELECT 1', values: [] });
      await enqueueEvents(tx, [cancelled.event({ aggregateType: 'order', aggregateId: 'a', payload: { why: 'x' } })]);
      return [rows, rowCount, signal.aborted, attempt];
    },
  }),
  // @ts-expect-error -- a handler without a transaction has no tx
  defineHandler({ name: 'a', events: [placed], run: (_event, { tx }) => tx as unknown }),
  // @ts-expect-error -- a transaction needs no key: it commits once
  defineHandler({ name: 'b', events: ['A'], transactional: true, run: (_event, { idempotencyKey }) => idempotencyKey as unknown }), // prettier-ignore
];
/** A `pg` client can stand for the transaction. */
const fits = (client: Client): Transaction => client;

function problem(define: () => unknown): string {
  try {
    define();
  } catch (error) {
    expect(error).toBeInstanceOf(HandlerError);
    expect(error).toMatchObject({ kind: 'handler', name: 'HandlerError' });
    return (error as HandlerError).message;
  }
  throw new Error('it was not refused');
}

describe('defineHandler', () => {
  it('gives a frozen handler that knows its types and definitions', () => {
    const [mail, project] = typed as [Handler, Handler];
    expect(mail).toMatchObject({
      name: 'mail',
      types: ['OrderPlaced', 'OrderCancelled', 'Untyped'],
      transactional: false,
      timeoutMs: DEFAULT_HANDLER_TIMEOUT_MS,
    });
    expect([...mail.definitions]).toEqual([
      ['OrderPlaced', placed],
      ['OrderCancelled', cancelled],
    ]);
    expect(Object.isFrozen(mail)).toBe(true);
    expect(project.transactional).toBe(true);
    expect(fits).toBeDefined();
    expect(defineHandler({ name: 'a', events: ['A'], timeoutMs: 86_400_000, run }).timeoutMs).toBe(86_400_000);
  });

  it.each([...RESERVED_ACTIVITY_NAMES, '__temporal_x'])('refuses the name %s, which is the worker’s own', (name) => {
    expect(problem(() => defineHandler({ name, events: ['A'], run }))).toMatch(
      /^The handler "\w+" cannot be used: its name is one of the worker’s own activities/,
    );
  });

  it.each([
    ['a name with a blank', { name: 'send mail' }, /"send mail".*must match/],
    ['a name that is no text', { name: 5 }, /The handler 5 .*must match/],
    ['no events', { events: [] }, /at least one event/],
    ['events that are no list', { events: placed }, /at least one event/],
    ['a type that can never come', { events: ['order.placed'] }, /events\[0\] "order\.placed" is neither/],
    ['a copy of a definition', { events: ['A', { ...placed }] }, /events\[1\] \(object\) is neither/],
    ['one event twice', { events: [placed, 'OrderPlaced'] }, /OrderPlaced is listed twice/],
    ['no function', { run: undefined }, /`run` must be a function/],
    ['a time-out of zero', { timeoutMs: 0 }, /timeoutMs 0 must be a whole number/],
    ['a time-out of half a millisecond', { timeoutMs: 0.5 }, /timeoutMs 0\.5/],
    ['a time-out of more than a day', { timeoutMs: 86_400_001 }, /timeoutMs 86400001/],
    ['a time-out that is a text', { timeoutMs: '5s' }, /timeoutMs "5s"/],
    ['a transactional that is a text', { transactional: 'yes' }, /`transactional` must be true or false/],
  ])('refuses %s', (_name, over, message) => {
    expect(problem(() => defineHandler({ name: 'good', events: ['A'], run, ...over } as never))).toMatch(message);
  });

  it('names every problem of a handler at once', () => {
    const message = problem(() => defineHandler({ name: 'claim', events: [], run, timeoutMs: -1 }));
    expect(message).toMatch(/own activities.*at least one event.*timeoutMs -1/);
  });
});

describe('HandlerRegistry', () => {
  const one = defineHandler({ name: 'one', events: [placed, 'Untyped'], run, timeoutMs: 5 });
  const two = defineHandler({ name: 'constructor', events: [placed], run, timeoutMs: 7 });

  it('finds handlers by name and by type, in the order given', () => {
    const registry = HandlerRegistry.of([one, two]);
    expect(registry.names).toEqual(['one', 'constructor']);
    expect(registry.size).toBe(2);
    expect(registry.longestTimeoutMs).toBe(7);
    expect(registry.get('one')).toBe(one);
    expect(registry.get('toString')).toBeUndefined();
    expect(registry.forType('OrderPlaced')).toEqual([one, two]);
    expect(registry.forType('Untyped')).toEqual([one]);
    expect(registry.forType('constructor')).toEqual([]);
    expect({ ...registry.eventsByHandler }).toEqual({ one: ['OrderPlaced', 'Untyped'], constructor: ['OrderPlaced'] });
    expect('toString' in registry.eventsByHandler).toBe(false);
  });

  it('may be empty', () => {
    const registry = HandlerRegistry.of([]);
    expect([registry.size, registry.longestTimeoutMs, registry.names]).toEqual([0, 0, []]);
  });

  it('takes a catalogue that has all of the types', () => {
    expect(HandlerRegistry.of([one], [placed, placed, defineEvent('Untyped'), cancelled]).size).toBe(1);
  });

  it('refuses everything that is wrong with one message', () => {
    const again = defineEvent('OrderPlaced');
    const handlers = [
      one,
      defineHandler({ name: 'one', events: ['Unheard'], run }),
      defineHandler({ name: 'three', events: [again], run }),
      { ...two },
      null,
    ] as Handler[];
    const message = problem(() => HandlerRegistry.of(handlers, [placed, { ...cancelled }]));
    expect(message.split('\n  ')).toEqual([
      'The handlers have 7 problems:',
      'two handlers are named one; the ledger could not tell them apart: rename one',
      expect.stringMatching(/^handlers\[3\] did not come from defineHandler/),
      expect.stringMatching(/^handlers\[4\] did not come from defineHandler/),
      expect.stringMatching(/^events\[1\] did not come from defineEvent/),
      'the handler one names the unknown event type Untyped: add it to the list of events',
      'the handler one names the unknown event type Unheard: add it to the list of events',
      'the event type OrderPlaced is defined twice: define it once and import it where it is needed',
    ]);
    expect(problem(() => HandlerRegistry.of('x' as never, 5 as never))).toMatch(/2 problems/);
  });
});
