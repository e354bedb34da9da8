import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Linux has no need of `ps`, which slim images lack. */
const HAS_PROC = existsSync('/proc/self/stat');

/** How often a bounded wait looks again, in milliseconds. */
export const POLL_MS = 25;

/** Whether the process runs. A zombie does not: it holds no port and no file, and in a container may stay for ever. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return !HAS_PROC || statFields(pid)?.[0] !== 'Z';
}

/** The command line as one text, or undefined when there is no such process. */
export function commandLine(pid: number): string | undefined {
  if (!HAS_PROC) return ps('-ww', '-o', 'command=', '-p', String(pid));
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return undefined;
  }
}

/** When the process began, as an opaque text. With the pid it names one process, even after the number was used again. */
export function startedAt(pid: number): string | undefined {
  return HAS_PROC ? statFields(pid)?.[19] : ps('-o', 'lstart=', '-p', String(pid));
}

/** All processes below `pid`, nearest first. A PostgreSQL backend leaves the process group, so a group signal misses it. */
export function descendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const [child, parent] of HAS_PROC ? procParents() : psParents()) {
    children.set(parent, [...(children.get(parent) ?? []), child]);
  }
  const found: number[] = [];
  for (let next = children.get(pid) ?? []; next.length > 0; next = next.flatMap((each) => children.get(each) ?? [])) {
    found.push(...next);
  }
  return found;
}

/** Sends the signal; a process that is already gone is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** SIGKILL for the process and everything below it, the parent first so that it cannot start another child. */
export async function killTree(pid: number): Promise<void> {
  const tree = [pid, ...descendants(pid)];
  for (const each of tree) signal(each, 'SIGKILL');
  await gone(tree, 10_000);
}

/** Waits until none of the processes runs. False when the time is over first. */
export async function gone(pids: readonly number[], withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (pids.some(isAlive)) {
    if (performance.now() > end) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** The fields of /proc/<pid>/stat after the command's name, which may itself hold spaces and brackets. */
function statFields(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

function procParents(): [number, number][] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), Number(statFields(Number(name))?.[1])]);
}

function psParents(): [number, number][] {
  const lines = ps('-A', '-o', 'pid=,ppid=')?.split('\n') ?? [];
  return lines.map((line) => line.trim().split(/\s+/).map(Number) as [number, number]);
}

function ps(...args: string[]): string | undefined {
  try {
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim() || undefined;
  } catch {
    return undefined;
  }
}
