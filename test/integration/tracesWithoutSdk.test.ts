import { context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { defineHandler } from '../../src/handlers/defineHandler';
import { enqueue, event } from '../support/events';
import { allHandled } from '../support/handled';
import { TestOutbox } from '../support/outbox';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe.each(['db', 'nats'])('backend %s, without an SDK of OpenTelemetry', (backend) => {
  it('handlers run without a span, and a context that the application gives itself is carried all the same', async () => {
    const outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, OUTBOX_BACKOFF_FIRST_MS: '50' });
    try {
      let calls = 0;
      const seen: unknown[] = [];
      const look = defineHandler({
        name: 'look',
        events: ['ThingHappened'],
        run: ({ headers }) => {
          seen.push([trace.getActiveSpan(), context.active() === ROOT_CONTEXT, headers.traceparent]);
          if (++calls === 1) throw new Error('the first time');
        },
      });
      await outbox.startWorker({}, { handlers: [look] });
      await enqueue(outbox.db, [event({ headers: { traceparent } })]);
      await allHandled(outbox.db, 'look', 1, 100_000);
      expect(seen).toEqual([
        [undefined, true, traceparent],
        [undefined, true, traceparent],
      ]);
      if (backend === 'nats') {
        const [message] = await outbox.messages();
        expect(message?.headers).toMatchObject({ traceparent, 'ce-traceparent': traceparent });
      }
      expect(propagation.fields()).toEqual([]);
    } finally {
      await outbox.close();
    }
  });
});
