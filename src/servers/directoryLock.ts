import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, startedAt } from './processes';
import { ServerError } from './serverError';

/**
 * Keeps a second run out of a directory of servers. The lock of a process that no longer lives is taken over.
 *
 * @returns the release
 * @throws ServerError that names the process which holds it
 */
export function lockDirectory(directory: string): () => void {
  const lock = join(directory, 'servers.lock');
  const mine = JSON.stringify({ pid: process.pid, startedAt: startedAt(process.pid) });
  const aside = `${lock}.${process.pid}`;
  try {
    mkdirSync(directory, { recursive: true });
    writeFileSync(aside, mine);
  } catch (error) {
    throw new ServerError(
      `${directory} cannot be written (${(error as Error).message}): make it yours, or use another directory.`,
      { cause: error },
    );
  }
  try {
    // A link is made whole or not at all: nobody ever reads a half-written lock.
    while (!tryLink(aside, lock)) {
      const held = read(lock);
      if (held === undefined) continue;
      const holder = parse(held);
      if (holder && isAlive(holder.pid) && startedAt(holder.pid) === holder.startedAt) {
        throw new ServerError(
          `The servers in ${directory} already run for process ${holder.pid}: end that process first, or use another directory.`,
        );
      }
      removeStale(lock, held, `${aside}.stale`);
    }
  } finally {
    rmSync(aside, { force: true });
  }
  return () => {
    if (read(lock) === mine) rmSync(lock, { force: true });
  };
}

/** Two processes may find the same stale lock; the later one must not remove what the earlier one has put there. */
function removeStale(lock: string, expected: string, aside: string): void {
  try {
    renameSync(lock, aside);
  } catch {
    return;
  }
  if (read(aside) !== expected) tryLink(aside, lock);
  rmSync(aside, { force: true });
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parse(text: string): { pid: number; startedAt: string | undefined } | undefined {
  try {
    return JSON.parse(text) as { pid: number; startedAt: string | undefined };
  } catch {
    return undefined;
  }
}
