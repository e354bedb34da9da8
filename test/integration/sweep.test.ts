import pino from 'pino';
import { loadConfig } from '../../src/config';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { takeOrphans } from '../../src/deliveries/sweep';
import { Sweeper } from '../../src/deliveries/sweeper';
import { defineHandler } from '../../src/handlers/defineHandler';
import { RunRefusedError, type DeliveryRuns } from '../../src/temporal/deliveryRuns';
import { deliveryOf, insertDelivery } from '../support/deliveries';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled } from '../support/handled';
import { TestOutbox } from '../support/outbox';
import '../support/printedRoles';

describe('the sweep', () => {
  let outbox: TestOutbox;
  const logs: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'debug' },
    { write: (line: string) => logs.push(JSON.parse(line) as Record<string, unknown>) },
  );
  beforeEach(async () => {
    logs.length = 0;
    // One look in each test, unless it says otherwise.
    outbox = await TestOutbox.create({ OUTBOX_SWEEP_MS: '600000' });
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
      if (eventId === refused) return Promise.reject(new RunRefusedError(new Error('its input is too large')));
      return Promise.resolve(void started.push(eventId));
    };
    await sweepOnce(start, () => logs.some(({ level }) => level === 40));
    expect(started).toEqual([next]);
    expect(await forsaken(refused)).toBe(false);
    expect(logs.filter(({ level }) => level === 40)).toMatchObject([
      { eventId: refused, handler: 'mail', attempt: 3, events: 1, reason: 'its input is too large' },
    ]);
  });

  it('takes a delivery for abandoned that is overdue and has been untouched for two minutes, and no other', async () => {
    const untouched = async (seconds: number) => {
      const eventId = await abandoned(20);
      await outbox.db.query(
        `UPDATE :schema.deliveries SET touched_at = clock_timestamp() - $2::float8 * interval '1 second' WHERE event_id = $1`,
        [eventId, seconds],
      );
      return eventId;
    };
    const [gone] = [await untouched(125), await untouched(100)];
    expect((await takeOrphans(outbox.db, loadConfig({}).handling.sweepAfterMs)).map(({ eventId }) => eventId)).toEqual([
      gone,
    ]);
  });

  it('starts a run again that was terminated', async () => {
    let tries = 0;
    const handler = defineHandler({
      name: 'mail',
      events: ['ThingHappened'],
      run: () => {
        if (++tries === 1) throw new Error('not yet');
      },
    });
    await outbox.startWorker(
      {
        ...{ EVENT_BUS_BACKEND: 'db', OUTBOX_BACKOFF_FIRST_MS: '3600000', OUTBOX_BACKOFF_MAX_MS: '3600000' },
        ...{ OUTBOX_SWEEP_MS: '300', OUTBOX_SWEEP_AFTER_MS: '1000' },
      },
      { handlers: [handler] },
    );
    const [eventId = ''] = await enqueue(outbox.db, [event()]);
    const run = outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, eventId));
    await eventually(async () => (await run.describe().catch(() => undefined))?.status.name === 'RUNNING');
    await run.terminate('to see what happens');
    // As if the hour were over.
    await outbox.db.query(`UPDATE :schema.deliveries SET next_at = clock_timestamp() - interval '1 minute'`);
    await allHandled(outbox.db, 'mail', 1);
    expect(tries).toBe(2);
  });

  it('leaves all to its next look when Temporal is away', async () => {
    const [first, second] = [await abandoned(20), await abandoned(10)];
    let asked = 0;
    const start = () => Promise.reject(new Error(`Temporal is away ${++asked}`));
    await sweepOnce(start, () => asked > 0);
    // Those that were under way at the same time were asked for too.
    expect(asked).toBeLessThanOrEqual(2);
    expect([await forsaken(first), await forsaken(second)]).toEqual([true, true]);
    expect(logs).toHaveLength(asked);
    for (const line of logs)
      expect(line).toMatchObject({ level: 20, eventType: 'ThingHappened', handler: 'mail', attempt: 3 });
  });
});
