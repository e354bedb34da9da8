import pino from 'pino';
import { Sweeper } from '../../src/deliveries/sweeper';
import { DeliveryRuns, RunRefusedError } from '../../src/temporal/deliveryRuns';
import { deliveryOf, insertDelivery } from '../support/deliveries';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';

describe('the sweep', () => {
  let outbox: TestOutbox;
  const logs: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'info' },
    { write: (line: string) => logs.push(JSON.parse(line) as Record<string, unknown>) },
  );
  beforeEach(async () => {
    logs.length = 0;
    outbox = await TestOutbox.create();
  });
  afterEach(() => outbox.close());

  const abandoned = (minutesAgo: number) =>
    insertDelivery(outbox.db, { state: 'waiting', at: `clock_timestamp() - interval '${minutesAgo} minutes'` });
  const forsaken = async (eventId: string) => (await deliveryOf(outbox.db, eventId))?.touched === '-infinity';

  /** @param tried whether enough has been seen: a sweep that is told to close leaves the rest */
  async function sweepOnce(start: DeliveryRuns['start'], tried: () => boolean): Promise<void> {
    await outbox.db.query(`UPDATE :schema.deliveries SET touched_at = '-infinity'`);
    const sweeper = new Sweeper({ db: outbox.db, config: outbox.config(), runs: { start }, logger });
    sweeper.start();
    await eventually(tried);
    await sweeper.close();
  }

  it('starts the runs behind one that Temporal refuses, warns of it, and does not ask again at once', async () => {
    const [refused, next] = [await abandoned(20), await abandoned(10)];
    const started: string[] = [];
    const start: DeliveryRuns['start'] = ({ eventId }) => {
      if (eventId === refused) return Promise.reject(new RunRefusedError(new Error('no such namespace')));
      return Promise.resolve(void started.push(eventId));
    };
    await sweepOnce(start, () => logs.some(({ level }) => level === 40));
    expect(started).toEqual([next]);
    expect(await forsaken(refused)).toBe(false);
    expect(logs.filter(({ level }) => level === 40)).toMatchObject([
      { eventId: refused, events: 1, reason: 'no such namespace' },
    ]);
  });

  it('leaves all to its next look when Temporal is away', async () => {
    const [first, second] = [await abandoned(20), await abandoned(10)];
    let asked = 0;
    const start = () => Promise.reject(new Error(`Temporal is away ${++asked}`));
    await sweepOnce(start, () => asked > 0);
    expect(asked).toBe(1);
    expect([await forsaken(first), await forsaken(second)]).toEqual([true, true]);
    expect(logs).toEqual([]);
  });

  it('is told by the server itself which of the two it is', async () => {
    const event = { eventId: await abandoned(1), eventType: 'T', aggregateType: 't', aggregateId: 'a' };
    const runs = new DeliveryRuns({ ...outbox.config(), deliveryTaskQueue: `${'x'.repeat(2_000)}/deliveries` });
    runs.use(outbox.client);
    await expect(runs.start(event, [])).rejects.toThrow(RunRefusedError);
    await expect(runs.start(event, [])).rejects.toThrow(/length exceeds limit/);
    runs.use(undefined);
    await expect(runs.start(event, [])).rejects.toThrow('Temporal is away');
  });
});
