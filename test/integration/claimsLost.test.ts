import { defineHandler, type HandledEvent, type HandlerContext } from '../../src/handlers/defineHandler';
import { Collecting } from '../support/collecting';
import { enqueue, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows, unfinished } from '../support/handled';
import { TestOutbox } from '../support/outbox';

describe.each(['db', 'nats'])('a claim that is lost before its handler had its turn, backend %s', (backend) => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({
      ...{ EVENT_BUS_BACKEND: backend, OUTBOX_LEDGER_RENEW_MS: '300' },
    });
  });
  afterEach(() => outbox.close());

  it.each([false, true])(
    'spends no attempt, and the event is claimed anew; transactional: %s',
    async (transactional) => {
      let release: () => void = () => undefined;
      const gate = new Promise<void>((resolve) => (release = resolve));
      const entered: { id: string; attempt: number }[] = [];
      // Of four, the first two begin alone; when the second has ended, the others share a transaction.
      const [count, concurrency, blocking]: [number, string, number[]] = transactional
        ? [4, '2', [1, 3]]
        : [2, '1', [1]];
      const run = ({ eventId: id }: HandledEvent, { attempt }: Pick<HandlerContext, 'attempt'>) => {
        entered.push({ id, attempt });
        return blocking.includes(entered.length) ? gate : undefined;
      };
      const about = { name: 'call', events: ['ThingHappened'] };
      const handler = transactional
        ? defineHandler({ ...about, transactional: true, run })
        : defineHandler({ ...about, run });
      const ids = await enqueue(
        outbox.db,
        events(count, (n) => ({ aggregateId: `a${n}` })),
      );
      const metrics = await Collecting.start(outbox, { OUTBOX_CONCURRENCY: concurrency }, { handlers: [handler] });
      const claims = async () => (await unfinished(outbox.db)).inProgress;
      const isClaimed = async () => entered.length === blocking.at(-1) && (await claims()) === blocking.length + 1;
      await eventually(isClaimed, undefined, 'one that is claimed and waits for its turn');
      // As after a fail-over of PostgreSQL that lost the last commits.
      const waiting = ids.find((id) => !entered.some((entry) => entry.id === id));
      await outbox.db.query('DELETE FROM :schema.processed_events WHERE event_id = $1', [waiting]);
      await metrics.becomes(1, 'outbox_leases_lost_total', { lease: 'ledger' });
      release();
      await allHandled(outbox.db, 'call', count);
      // In a transaction that is shared the first one is run again with its rows.
      expect(entered.filter(({ id }) => id === waiting)).toEqual([{ id: waiting, attempt: 1 }]);
      expect(new Set(entered.map(({ attempt }) => attempt))).toEqual(new Set([1]));
      expect(await deliveryRows(outbox.db)).toEqual([]);
    },
  );
});
