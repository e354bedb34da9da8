import { execFile } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { OUTBOX } from '../../bench/build';
import { endChild, watchOver } from '../../bench/children';
import type { OperatorLine } from '../checker/history';
import { now } from '../clock';
import { ROLES } from '../world/tables';
import type { World } from '../world/world';
import { insist, seconds, spell, wait, type Fault } from './fault';

const WITHIN_MS = 60_000;
const GRACE_MS = 5_000;

type Verb = OperatorLine['verb'];

/**
 * As an operator types it, with the command that is shipped, and again until it says that it was carried out. Each try
 * stands in the journal, for the checker.
 */
async function outbox(world: World, verb: Verb, ...options: string[]): Promise<void> {
  await insist(async () => {
    const args = [verb, ...options, '--json'];
    const dead = verb === 'reemit' ? await deadLetters(world).catch(() => undefined) : undefined;
    const from = now();
    const { code, stdout, stderr } = await run(args, world.environment(ROLES.worker));
    const said = stderr.trim().slice(-500);
    const line: OperatorLine = {
      ...{ verb, args, from, to: now(), code, dead },
      ...(code === 0 ? { result: JSON.parse(stdout) as unknown } : { said }),
    };
    appendFileSync(join(world.directory, 'journal', 'operator'), `${JSON.stringify(line)}\n`);
    if (code !== 0) throw new Error(`outbox ${verb}: exit ${code ?? 'none in time'}: ${said.split('\n')[0]}`);
  });
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Not with the time-out of `execFile`, which closes the pipes: the command then ends with 0, as for any reader that has seen
 * enough, and nobody could tell that from success.
 */
function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  return new Promise((resolve) => {
    let late = false;
    const child = execFile(process.execPath, [OUTBOX, ...args], { env }, (error, stdout, stderr) => {
      clearTimeout(timer);
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null;
      resolve({ code: late ? null : code, stdout, stderr });
    });
    const ended = watchOver(child);
    const timer = setTimeout(() => {
      late = true;
      void endChild(child, ended, GRACE_MS);
    }, WITHIN_MS);
  });
}

async function deadLetters({ db }: World): Promise<OperatorLine['dead']> {
  const { rows } = await db.query<{ eventId: string; handler: string }>(
    `SELECT event_id::text AS "eventId", handler FROM :schema.deliveries WHERE state = 'dead'`,
  );
  return rows;
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
          await outbox(world, 'resume');
        }
      },
    };
  },
};
