import { defineHandler } from '../../src/handlers/defineHandler';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled } from '../support/handled';
import { TestOutbox } from '../support/outbox';

/** Stands in every payload, and nowhere else. */
const SECRET = 'nobody-s-business-4711';
const EXHAUSTED = 'event exhausted max deliveries';

describe.each(['nats', 'db'] as const)('the log of a worker, backend %s', (backend) => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, EVENT_QUEUE_MAX_ATTEMPTS: '2' });
  });
  afterEach(() => outbox.close());

  const quiet = defineHandler({ name: 'quiet', events: ['ThingHappened'], run: () => undefined });

  it('has id, type, handler and attempt under the same names on every line about an event, and no payload', async () => {
    const doomed = (name: string, transactional: boolean) => {
      const run = () => {
        throw new Error(`${name} is away`);
      };
      return transactional
        ? defineHandler({ name, events: ['ThingDoomed'], transactional, run })
        : defineHandler({ name, events: ['ThingDoomed'], run });
    };
    const handlers = [quiet, doomed('mail', false), doomed('ledger', true)];
    const { logs } = await outbox.startWorker({}, { handlers });
    const payload = { note: SECRET };
    const [id] = await enqueue(outbox.db, [event({ type: 'ThingDoomed', payload }), event({ payload })]);
    await eventually(() => logs.filter(({ msg }) => msg === EXHAUSTED).length === 2);

    const about = logs.filter((line) => 'eventId' in line || 'event_id' in line || 'attempts' in line);
    expect(about.length).toBeGreaterThanOrEqual(4);
    for (const line of about) {
      expect(line).toMatchObject({ eventId: id, eventType: 'ThingDoomed' });
      expect(['mail', 'ledger']).toContain(line.handler);
      expect([1, 2]).toContain(line.attempt);
    }
    const said = (msg: string) =>
      logs.filter((line) => line.msg === msg).map(({ handler, attempt }) => `${String(handler)} ${String(attempt)}`);
    expect(said('A handler failed and is tried again').sort()).toEqual(['ledger 1', 'mail 1']);
    expect(said(EXHAUSTED).sort()).toEqual(['ledger 2', 'mail 2']);
    expect(logs.filter((line) => JSON.stringify(line).includes(SECRET))).toEqual([]);
  });

  it('has one line for each pass that had events, with its counts, and none for one that had none', async () => {
    const { logs } = await outbox.startWorker({ OUTBOX_LONG_POLL_MS: '500' }, { handlers: [quiet] });
    await enqueue(outbox.db, events(30));
    await allHandled(outbox.db, 'quiet', 30);
    await outbox.allDone();
    const passes = () => logs.filter(({ msg }) => msg === 'A pass of the relay');
    const sum = (field: string) => passes().reduce((total, line) => total + Number(line[field]), 0);
    await eventually(() => sum('done') === 30);
    expect(sum('published')).toBe(30);
    expect(new Set(passes().map(({ token }) => token)).size).toBe(passes().length);
    for (const line of passes()) {
      expect(line).toMatchObject({ level: 30, deferred: 0, dead: 0, returned: 0, lost: 0 });
      expect(Number(line.done)).toBeGreaterThan(0);
    }
    // Claims that found nothing have ended meanwhile.
    await eventually(async () => (await outbox.status()).totals.published === 30);
    expect((await outbox.status()).totals.passes).toBeGreaterThanOrEqual(passes().length);
  });

  it('has that line for a pass that ends with its worker too, so that the counts of both workers add up', async () => {
    // One claim holds all of them until somebody ends it.
    const first = await outbox.startWorker({ OUTBOX_SLICE_MS: '60000' }, { handlers: [quiet] });
    await enqueue(outbox.db, events(30));
    await allHandled(outbox.db, 'quiet', 30);
    await first.stop();
    const second = await outbox.startWorker({}, { handlers: [quiet] });
    await enqueue(outbox.db, events(7));
    await outbox.allDone();
    const passes = () => [...first.logs, ...second.logs].filter(({ msg }) => msg === 'A pass of the relay');
    await eventually(() => passes().reduce((sum, { done }) => sum + Number(done), 0) === 37);
    expect(passes().filter(({ ended }) => ended !== undefined)).toMatchObject([
      { level: 30, done: 30, published: 30, returned: 0, lost: 0, ended: 'worker stopping' },
    ]);
    expect(passes().filter(({ published }) => published === 0)).toEqual([]);
  });
});
