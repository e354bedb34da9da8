import { enqueue, events } from '../support/events';
import type { Settings } from '../support/outbox';
import { atRest, verify } from './outcome';
import { CrashWorld } from './world';

/** The defaults, which the tests' world shortens. An empty value is one that is not set. */
const DEFAULTS: Settings = Object.fromEntries(
  [
    ...['SLICE_MS', 'LONG_POLL_MS', 'POLL_MS', 'UNPROVEN_POLL_MS', 'SETTLE_MS', 'PROBE_MS', 'PUBLISH_TIMEOUT_MS'],
    ...['HEARTBEAT_TIMEOUT_MS', 'OWN_QUEUE_TIMEOUT_MS', 'STICKY_TIMEOUT_MS', 'BACKOFF_FIRST_MS', 'BACKOFF_MAX_MS'],
    ...['LEDGER_LEASE_MS', 'LEDGER_RENEW_MS', 'SWEEP_MS', 'SWEEP_AFTER_MS', 'ACK_WAIT_MS'],
  ].map((name) => [`OUTBOX_${name}`, '']),
);
const NOT_STARTED_MS = 15_000;
const STARTED_MS = 40_000;

const long = process.env.OUTBOX_TEST_LONG === 'on' ? it.concurrent : it.concurrent.skip;

long.each([
  ['external', 'db'],
  ['external', 'nats'],
  ['transactional', 'db'],
  ['transactional', 'nats'],
])(
  'events of a worker that is killed (%s, backend %s) are handled again within 15 s when not begun, 40 s when begun, with the default settings',
  (handler, backend) =>
    CrashWorld.during({ ...DEFAULTS, EVENT_BUS_BACKEND: backend }, async (world) => {
      await world.worker();
      const type = handler === 'external' ? 'Outside' : 'InTransaction';
      const death = world.plan({ name: 'handler middle', match: `^${handler} 1$`, when: 'before', nth: 12 });
      const ids = await enqueue(
        world.db,
        events(60, (n) => ({ type, aggregateId: `a${n}`, payload: { ms: 400 } })),
      );
      // Ready before the kill or soon after it, as any other worker of a deployment is.
      await world.worker();
      const died = await death();
      await atRest(world, ids);

      const claimed = new Set(
        world
          .journal()
          .filter(({ kind, pid }) => kind === 'claiming' && pid === died.pid)
          .map(({ eventId }) => eventId),
      );
      const after = (await doneAt(world)).filter(({ at }) => at > died.at);
      const lost = after.filter(({ id }) => claimed.has(id));
      const waiting = after.filter(({ id }) => !claimed.has(id));
      const waited = (given: typeof after) => Math.round(Math.max(0, ...given.map(({ at }) => at - died.at)));
      console.info(
        `${handler}, ${backend}: ${waiting.length} not begun, handled within ${waited(waiting)} ms; ${lost.length} begun, within ${waited(lost)} ms`,
      );
      expect(lost.length).toBeGreaterThan(0);
      expect(waiting.length).toBeGreaterThan(0);
      expect(waited(waiting)).toBeLessThan(NOT_STARTED_MS);
      expect(waited(lost)).toBeLessThan(STARTED_MS);
      await verify(world, { ids, deaths: [died] });
    }),
  600_000,
);

async function doneAt({ db }: CrashWorld): Promise<{ id: string; at: number }[]> {
  const { rows } = await db.query<{ id: string; at: number }>(
    `SELECT event_id::text AS id, (extract(epoch FROM processed_at) * 1000)::float8 AS at
       FROM :schema.processed_events WHERE status = 'done'`,
  );
  return rows;
}
