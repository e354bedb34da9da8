import type { NewEvent } from '../../src/event';
import { events } from '../support/events';
import { matrix } from './arena';
import { around, PLACES } from './places';

/** All of them fail once, so that each row and each message is settled by being handed over. */
const failing = (handler: string): readonly NewEvent[] => {
  const payload = { handler, fails: 1 };
  const type = handler === 'external' ? 'Outside' : 'InTransaction';
  return [
    ...events(3, (n) => ({ aggregateId: `a${n}`, payload })),
    ...events(3, (n) => ({ type, aggregateId: `b${n}`, payload })),
  ];
};

describe('a worker killed while it hands a failure over to a delivery run: nothing lost, no effect twice, nothing left open', () => {
  describe.each(['db', 'nats'])('backend %s', (backend) => {
    for (const handler of ['transactional', 'external']) {
      const given = failing(handler);
      matrix(backend, handler, [
        ...around('the hand-over is written', 'sql', PLACES.handOver(handler), given),
        ...around('the run is started', 'start', PLACES.start(handler), given),
        ...(backend === 'db'
          ? [
              ...around('the row is left to the run', 'sql', PLACES.retry, given),
              ...around('the row is looked at once more', 'sql', PLACES.settleRow, given),
            ]
          : around('the message is acknowledged', 'publish', PLACES.acknowledgement, given)),
      ]);
    }
  });
});
