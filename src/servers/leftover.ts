import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, gone, isAlive, killTree, signal, startedAt } from './processes';
import type { Log } from './server';
import { ServerError } from './serverError';

interface Recorded {
  pid: number;
  /** The process that started it and may still use it. */
  owner: number;
  ownerStartedAt: string | undefined;
}

const pidFile = (of: { directory: string; id: string }) => join(of.directory, `${of.id}.pid`);

/** Notes which process is the server, so that the next run can find it should this one be killed. */
export function recordProcess(of: { directory: string; id: string; pid: number }): void {
  const record: Recorded = { pid: of.pid, owner: process.pid, ownerStartedAt: startedAt(process.pid) };
  writeFileSync(pidFile(of), `${JSON.stringify(record)}\n`);
}

export function forgetProcess(of: { directory: string; id: string }): void {
  rmSync(pidFile(of), { force: true });
}

/**
 * Ends the server that a killed run left behind on this data. Nothing else is ever signalled: the process must be the
 * one in our pid file (or PostgreSQL's own), and its command line must name the binary and this data directory.
 *
 * @throws ServerError when the run that started it is alive, or when it cannot be ended
 */
export async function clearLeftover(of: {
  directory: string;
  id: string;
  name: string;
  dataDirectory: string;
  stopSignal: NodeJS.Signals;
  stopWithinMs: number;
  log: Log;
}): Promise<void> {
  const record = readRecord(pidFile(of));
  const pid = [record?.pid, postmasterPid(of.dataDirectory)].find(
    (each) => each !== undefined && isAlive(each) && isServer(each, of),
  );
  if (pid !== undefined) {
    if (record?.pid === pid && isAlive(record.owner) && startedAt(record.owner) === record.ownerStartedAt) {
      throw new ServerError(
        `${of.name} already runs on ${of.dataDirectory} for process ${record.owner}: end that process, or use another directory.`,
      );
    }
    of.log(`Ending the ${of.name} that an earlier run left behind (pid ${pid})`);
    try {
      signal(pid, of.stopSignal);
      signal(pid, 'SIGCONT');
      if (!(await gone([pid], of.stopWithinMs))) await killTree(pid);
    } catch (error) {
      throw new ServerError(
        `The ${of.name} that an earlier run left behind (pid ${pid}) belongs to another user: end it as that user, or use another directory.`,
        { cause: error },
      );
    }
  }
  forgetProcess(of);
}

function isServer(pid: number, of: { id: string; dataDirectory: string }): boolean {
  const command = commandLine(pid) ?? '';
  return command.includes(of.id) && command.includes(of.dataDirectory);
}

function readRecord(file: string): Recorded | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Recorded;
  } catch {
    return undefined;
  }
}

/** Covers a run that was killed between starting PostgreSQL and writing our own file. */
function postmasterPid(dataDirectory: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(join(dataDirectory, 'postmaster.pid'), 'utf8'), 10) || undefined;
  } catch {
    return undefined;
  }
}
