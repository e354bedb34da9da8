import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { defineHandler } from '../../src/handlers/defineHandler';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { Proxy } from '../support/proxy';

describe('a delivery run whose worker cannot reach PostgreSQL', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db' });
  });
  afterEach(() => outbox.close());

  it('backs off from 1 s to 8 s between its tries, anew in each outage, spends no attempt and is quick when it is over', async () => {
    const direct = outbox.config().databaseUrl;
    const proxy = await Proxy.to(direct);
    outbox.onClose(() => proxy.close());
    const attempts: number[] = [];
    const broken = defineHandler({
      name: 'broken',
      events: ['ThingHappened'],
      run: (_, { attempt }) => {
        attempts.push(attempt);
        if (attempt < 4) throw new Error('no such host');
      },
    });
    const HOUR = { OUTBOX_BACKOFF_FIRST_MS: '3600000', OUTBOX_BACKOFF_MAX_MS: '3600000' };
    await outbox.startWorker({ ...HOUR, DATABASE_URL: proxy.url(direct) }, { handlers: [broken] });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    const run = outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, id));
    const tried = (times: number) => eventually(() => attempts.length === times);
    /** Waits between two tries, in milliseconds; those of the shared schedule, an hour here, are none. */
    const waits = async () =>
      ((await run.fetchHistory()).events ?? []).flatMap(({ timerStartedEventAttributes: timer }) => {
        const { seconds = 0, nanos = 0 } = timer?.startToFireTimeout ?? {};
        const ms = Number(seconds) * 1_000 + Number(nanos) / 1e6;
        return timer && ms < 60_000 ? [ms] : [];
      });
    const away = async (waited: readonly number[]) => {
      proxy.takeAway();
      await run.signal('retryNow', {});
      await eventually(async () => (await waits()).length >= waited.length, 100_000);
      expect((await waits()).slice(0, waited.length)).toEqual(waited);
      proxy.giveBack();
    };
    await eventually(() => run.query('status'));
    const first = [1_000, 2_000, 4_000, 8_000, 8_000];
    await away(first);
    await tried(2);
    const before = await waits();
    await eventually(async () => JSON.stringify(await run.query('status')).includes('"attempts":2'));
    await away([...before, 1_000, 2_000]);
    await tried(3);
    await eventually(async () => JSON.stringify(await run.query('status')).includes('"attempts":3'));
    await run.signal('retryNow', {});
    await eventually(async () => (await run.describe()).status.name === 'COMPLETED');
    expect(attempts).toEqual([1, 2, 3, 4]);
    await outbox.allDone();
  }, 180_000);
});
