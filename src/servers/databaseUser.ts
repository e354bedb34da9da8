import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ServerError } from './serverError';

/** How to run PostgreSQL's programs so that they do not see root. */
export interface DatabaseUser {
  /** The owner that the data directory needs; undefined: as we are. */
  owner: { uid: number; gid: number } | undefined;
  command(file: string, args: string[]): { file: string; args: string[]; uid?: number; gid?: number };
}

const asWeAre: DatabaseUser = { owner: undefined, command: (file, args) => ({ file, args }) };

/**
 * PostgreSQL refuses to run as root. An ordinary user runs it as is; root runs it as the owner of existing data, else
 * as `nobody`. Where that user cannot reach the data or the programs (a checkout below /root, a strict umask), `setpriv`
 * gives it the one capability to pass by file permissions, and nothing else of root.
 *
 * @param dataDirectory exists, and belongs to the user that `ownerOf` names
 */
export function databaseUser(postgres: string, dataDirectory: string): DatabaseUser {
  const owner = ownerOf(dataDirectory);
  if (!owner) return asWeAre;
  const plain = (file: string, args: string[]) => ({ file, args, ...owner });
  if (canRun(plain, postgres, dataDirectory)) return { owner, command: plain };

  const { uid, gid } = owner;
  const only = '-all,+dac_override';
  // Without the secure bit the capability does not count for access(2), with which initdb looks for its neighbours.
  const options = [
    '--securebits=+no_setuid_fixup',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    `--inh-caps=${only}`,
  ];
  const withCapability = (file: string, args: string[]) => ({
    file: 'setpriv',
    args: [...options, `--ambient-caps=${only}`, `--bounding-set=${only}`, file, ...args],
  });
  if (canRun(withCapability, postgres, dataDirectory)) return { owner, command: withCapability };
  throw new ServerError(
    `PostgreSQL refuses to run as root, and the user ${uid} that would run it cannot reach ${dataDirectory} or ${dirname(postgres)}: ` +
      'work as an ordinary user, move the checkout to a directory that all users can enter, or set DATABASE_URL.',
  );
}

/** Who must own the data directory, when that is not us. */
export function ownerOf(dataDirectory: string): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (existsSync(join(dataDirectory, 'PG_VERSION'))) {
    const { uid, gid } = statSync(dataDirectory);
    if (uid !== 0) return { uid, gid };
  }
  return { uid: nobody('-u'), gid: nobody('-g') };
}

function canRun(command: DatabaseUser['command'], postgres: string, dataDirectory: string): boolean {
  const { file, args, ...user } = command('/bin/sh', ['-c', '"$0" --version && test -w "$1"', postgres, dataDirectory]);
  return spawnSync(file, args, { ...user, cwd: '/', stdio: 'ignore', timeout: 10_000 }).status === 0;
}

function nobody(which: '-u' | '-g'): number {
  try {
    return Number(execFileSync('id', [which, 'nobody'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  } catch {
    return 65_534;
  }
}
