import { readFileSync } from 'node:fs';
import { commandLine, isAlive } from '../src/servers/processes';

const LOOK_EVERY_MS = 500;
/** From npm over a shell and the transpiler's launcher to us, with room for one more. */
const MAX_STEPS = 5;

/**
 * Calls `gone` when npm, or anything between it and us, has ended: npm passes a SIGTERM to its shell only, so that a
 * bench told to stop through `npm run bench` would never hear of it. Does nothing when npm did not start us, since a
 * shell may end before what it left in the background.
 */
export function watchLauncher(gone: (what: string) => void): void {
  const chain = launchers();
  if (chain.length === 0) return;
  const timer = setInterval(() => {
    // A process whose parent has ended is given another one.
    const broken = chain.find(({ pid, parent }) => !isAlive(pid) || parentOf(pid) !== parent);
    if (!broken) return;
    clearInterval(timer);
    gone('what started the bench has ended');
  }, LOOK_EVERY_MS);
  timer.unref();
}

/** Every process from us up to the one below npm, each with its parent; empty when npm is not above us. */
function launchers(): { pid: number; parent: number }[] {
  const chain: { pid: number; parent: number }[] = [];
  for (let pid = process.pid; chain.length < MAX_STEPS;) {
    const parent = parentOf(pid);
    if (parent === undefined || parent <= 1) return [];
    chain.push({ pid, parent });
    if (/^npm |\bnpm(-cli\.js)? /.test(commandLine(parent) ?? '')) return chain;
    pid = parent;
  }
  return [];
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}
