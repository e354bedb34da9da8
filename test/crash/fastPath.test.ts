import type { NewEvent } from '../../src/event';
import { events } from '../support/events';
import { matrix } from './arena';
import { around, inside, PLACES } from './places';

/** More than a worker claims at once, so that some have not been started when it dies. */
const mixed: readonly NewEvent[] = [
  ...events(10, (n) => ({ aggregateId: `a${n}` })),
  ...events(5, (n) => ({ type: 'InTransaction', aggregateId: `b${n}` })),
  ...events(5, (n) => ({ type: 'Outside', aggregateId: `c${n}` })),
];

describe('a worker killed on the fast path: nothing lost, no effect twice, nothing left open, and no attempt of what was not begun', () => {
  describe.each(['db', 'nats'])('backend %s', (backend) => {
    matrix(backend, 'transactional', [
      ...around('its ledger claim', 'sql', PLACES.claim('transactional'), mixed),
      ...inside('transactional', 1, 2, mixed),
      ...around('the ledger says done', 'sql', PLACES.finish('transactional'), mixed),
      ...around('the commit', 'sql', PLACES.commit, mixed),
    ]);
    matrix(backend, 'external', [
      ...around('its ledger claim', 'sql', PLACES.claim('external'), mixed),
      ...inside('external', 1, 2, mixed),
      ...around('the ledger says done', 'sql', PLACES.finish('external'), mixed),
      ...(backend === 'db'
        ? around('the row is marked done', 'sql', PLACES.mark, mixed)
        : around('a message is acknowledged', 'publish', PLACES.acknowledgement, mixed)),
    ]);
  });
});
