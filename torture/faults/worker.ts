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

/** Past the lease, and for somebody else's attempt to end meanwhile. */
const blockMs = (leaseMs: number) => Math.round(1.5 * leaseMs) + 3_000;

/**
 * A transactional handler keeps its whole process busy: no renewal, no heartbeat and no signal until it is through, and
 * then it commits at once, if it may.
 */
export const workerBlock: Fault = {
  name: 'worker-block',
  aim: (random, { leaseMs }) => {
    const ms = blockMs(leaseMs);
    const payload = { n: random.between(0, 9_999), blockMs: ms };
    return {
      what: `a handler keeps its worker busy for ${seconds(ms)}`,
      strike: async (world) => {
        await writeEvent(world, { type: 'Blocking', payload, commits: true });
        await wait(ms)();
      },
    };
  },
};
