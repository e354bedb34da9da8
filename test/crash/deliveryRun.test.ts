import type { NewEvent } from '../../src/event';
import { events } from '../support/events';
import { matrix } from './arena';
import { around, inside, PLACES } from './places';

/** The first attempt fails on the fast path; what comes after it belongs to delivery runs. */
const failing = (handler: string, fails: number, orders: object = {}): readonly NewEvent[] => {
  const payload = { handler, fails, ...orders };
  const type = handler === 'external' ? 'Outside' : 'InTransaction';
  return [
    ...events(2, (n) => ({ aggregateId: `a${n}`, payload })),
    ...events(2, (n) => ({ type, aggregateId: `b${n}`, payload })),
  ];
};

describe('a worker killed in a delivery run: nothing lost, no effect twice, nothing left open', () => {
  describe.each(['db', 'nats'])('backend %s', (backend) => {
    for (const handler of ['transactional', 'external']) {
      const once = failing(handler, 1);
      const held = (gate: string) => failing(handler, 1, { hold: 2, until: gate });
      matrix(backend, handler, [
        ...around('the attempt begins', 'sql', PLACES.beginAttempt(handler), once),
        ...inside(handler, 2, 1, once),
        ...around('the attempt is written as done', 'sql', PLACES.finishAttempt(handler), once),
        ...(handler === 'transactional' ? around('the commit', 'sql', PLACES.commit, held('commit'), 'commit') : []),
        ...around('a failed attempt is written', 'sql', PLACES.endAttempt(handler), failing(handler, 2)),
        ...around('the row is settled', 'sql', PLACES.settleRow, held('settled'), 'settled'),
      ]);
    }
  });
});
