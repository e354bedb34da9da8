import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Linux counts CPU time in ticks of 10 ms, whatever the kernel's own clock. */
const MS_PER_TICK = 10;
const MB = 1024 * 1024;

/** User and system time that the process has spent so far, in milliseconds, all threads included; NaN off Linux. */
export function cpuMs(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields ? (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK : NaN;
}

/** The most memory that the process ever held resident, in MiB. Off Linux what it holds now, as `ps` knows no peak. */
export function peakMb(pid: number): number {
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  if (peak !== undefined) return (Number(peak) * 1024) / MB;
  try {
    return (Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024) / MB;
  } catch {
    return NaN;
  }
}

/** What the process holds resident now, in MiB; NaN when it is gone, and off Linux. */
export function residentMb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  return kb === undefined ? NaN : (Number(kb) * 1024) / MB;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
