import type { ChildProcess } from 'node:child_process';

const children = new Set<ChildProcess>();

// The last resort, for an end that ran no clean-up: nothing may outlive the bench.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Makes sure that `child` ends with the bench, and tells when it has ended. */
export function watchOver(child: ChildProcess): Promise<void> {
  children.add(child);
  return new Promise((resolve) => {
    const over = () => {
      children.delete(child);
      resolve();
    };
    child.once('exit', over);
    // Never started: there is no exit to come.
    child.once('error', over);
  });
}

/** Ends a child: asks, and after `graceMs` insists. */
export async function endChild(child: ChildProcess, ended: Promise<void>, graceMs: number): Promise<void> {
  child.kill('SIGTERM');
  const insist = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await ended;
  clearTimeout(insist);
}
