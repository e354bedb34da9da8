import { rmSync, writeFileSync } from 'node:fs';
import { actorOf, seconds, spell, wait, type Fault } from './fault';

const SHIFTS_MS = [-86_400_000, -3_600_000, -30_000, -2_000, 2_000, 30_000, 3_600_000, 86_400_000];

/** A worker's wall clock is wrong, and then right again; each change is a jump. */
export const clockMoved: Fault = {
  name: 'clock-moved',
  aim: (random, scene) => {
    const index = random.between(0, scene.workers - 1);
    const shiftMs = random.pick(SHIFTS_MS);
    const ms = spell(random, scene);
    return {
      what: `the clock of worker ${index + 1} is off by ${shiftMs / 1_000} s for ${seconds(ms)}`,
      strike: async ({ workers }) => {
        const { clockFile } = actorOf(workers, index);
        try {
          writeFileSync(clockFile, `${shiftMs}`);
          await wait(ms)();
        } finally {
          rmSync(clockFile, { force: true });
        }
      },
    };
  },
};
