import type { World } from '../world/world';
import { writeEvent } from '../world/writeEvent';
import { actorOf, seconds, spell, wait, type Fault } from './fault';

const GRACE_MS = 20_000;

/** SIGKILL: what it held is another's, when its heartbeats and leases are missed. A new one is started at once. */
export const workerKill: Fault = {
  name: 'worker-kill',
  aim: (random, { workers }) => {
    const index = random.between(0, workers - 1);
    return {
      what: `kill worker ${index + 1}`,
      strike: ({ workers: all }) => actorOf(all, index).child.kill(),
    };
  },
};

/** SIGTERM, as a deployment does it. */
export const workerTerminate: Fault = {
  name: 'worker-terminate',
  aim: (random, { workers }) => {
    const index = random.between(0, workers - 1);
    return {
      what: `terminate worker ${index + 1}`,
      strike: ({ workers: all }) => actorOf(all, index).child.terminate(GRACE_MS),
    };
  },
};

/** SIGSTOP and SIGCONT: it goes on where it was, and does not know that time has passed. */
export const workerFreeze: Fault = {
  name: 'worker-freeze',
  aim: (random, scene) => {
    const index = random.between(0, scene.workers - 1);
    const ms = spell(random, scene);
    return {
      what: `freeze worker ${index + 1} for ${seconds(ms)}`,
      strike: ({ workers: all }) => actorOf(all, index).child.freeze(wait(ms)),
    };
  },
};

/** Below the time-out of a handler, which is a minute. */
const MOST_BLOCK_MS = 50_000;

/**
 * A transactional handler keeps its whole process busy until another worker has been through its event: no renewal, no
 * heartbeat and no signal, and then it commits at once, if it may.
 */
export const workerBlock: Fault = {
  name: 'worker-block',
  needs: ['postgres', 'database'],
  aim: (random, { leaseMs }) => {
    const blockMs = Math.min(6 * leaseMs, MOST_BLOCK_MS);
    const payload = { n: random.between(0, 9_999), blockMs };
    return {
      what: 'a handler keeps its worker busy until another has taken its event over',
      strike: async (world) => {
        const eventId = await writeEvent(world, { type: 'Blocking', payload, commits: true });
        const end = performance.now() + blockMs;
        while (performance.now() < end && !(await hasEnded(world, eventId))) await wait(250)();
        if (!(await wasClaimed(world, eventId))) throw new Error('no worker has come to the event in time');
      },
    };
  },
};

async function hasEnded({ db }: World, eventId: string): Promise<boolean> {
  const { rowCount } = await db.query(`SELECT FROM :schema.processed_events WHERE event_id = $1 AND status = 'done'`, [
    eventId,
  ]);
  return rowCount !== 0;
}

async function wasClaimed({ db }: World, eventId: string): Promise<boolean> {
  const { rows } = await db.query<{ was: boolean }>(
    `SELECT EXISTS (SELECT FROM :schema.processed_events WHERE event_id = $1)
         OR EXISTS (SELECT FROM :schema.deliveries WHERE event_id = $1) AS was`,
    [eventId],
  );
  return rows[0]?.was ?? false;
}
