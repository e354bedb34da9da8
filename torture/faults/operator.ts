import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { OUTBOX } from '../../bench/build';
import { ROLES } from '../world/tables';
import type { World } from '../world/world';
import { insist, seconds, spell, wait, type Fault } from './fault';

const run = promisify(execFile);
const WITHIN_MS = 60_000;

/** As an operator types it, with the command that is shipped. */
async function outbox(world: World, ...args: string[]): Promise<void> {
  await run(process.execPath, [OUTBOX, ...args], { env: world.environment(ROLES.worker), timeout: WITHIN_MS });
}

/** Every dead letter is handed back with a fresh budget, also those that will die again. */
export const operatorReemit: Fault = {
  name: 'operator-reemit',
  aim: () => ({ what: 'outbox reemit --all', strike: (world) => outbox(world, 'reemit', '--all') }),
};

export const operatorPrune: Fault = {
  name: 'operator-prune',
  aim: () => ({
    what: 'outbox prune, of what has been done for a second',
    strike: (world) => outbox(world, 'prune', '--only', 'done', '--older-than', '1s'),
  }),
};

/** Nothing is published until the resume. */
export const operatorPause: Fault = {
  name: 'operator-pause',
  aim: (random, scene) => {
    const ms = spell(random, scene);
    return {
      what: `outbox pause, and resume after ${seconds(ms)}`,
      strike: async (world) => {
        try {
          await outbox(world, 'pause');
          await wait(ms)();
        } finally {
          await insist(() => outbox(world, 'resume'));
        }
      },
    };
  },
};
