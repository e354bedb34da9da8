import { enqueue, events } from '../support/events';
import { eventually } from '../support/eventually';
import { matrix } from './arena';
import { atRest, verify } from './outcome';
import { around, PLACES } from './places';
import { CrashWorld } from './world';

/** More than a worker takes in at once. */
const many = events(60, (n) => ({ aggregateId: `a${n}` }));
/** Longer than a part of `ack_wait`, so that the broker is told of them; and more than run at once. */
const slow = events(40, (n) => ({ aggregateId: `a${n}`, payload: { ms: 700 } }));

describe('a worker killed while it receives: nothing lost, no effect twice, nothing left open', () => {
  matrix('nats', 'of both kinds', [
    ...around('it asks for messages', 'publish', PLACES.pull, many),
    {
      name: 'killed when a message has come and is not handed in',
      fault: { kind: 'message', match: '.', when: 'before', nth: 2 },
      events: many,
    },
    ...around('a receive ends', 'drain', PLACES.inbox, many),
    ...around('it tells that a message is in hand', 'publish', PLACES.working, slow),
    ...around('it gives back what it has not begun, told to stop', 'publish', PLACES.givenBack, slow).map((one) => ({
      ...one,
      stops: true,
    })),
  ]);

  it.each(['before', 'after'] as const)(
    'killed %s it joins the consumer',
    (when) =>
      CrashWorld.during({ EVENT_BUS_BACKEND: 'nats' }, async (world) => {
        const death = world.plan({ kind: 'start', match: PLACES.join, when });
        const first = await world.worker({}, false);
        const died = await death();
        await eventually(() => first.child.signalCode === 'SIGKILL');
        const ids = await enqueue(world.db, many);
        await world.worker();
        await atRest(world, ids);
        await verify(world, { ids, deaths: [died] });
      }),
    300_000,
  );
});
