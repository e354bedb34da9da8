import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Found {
  file: string;
  major: number;
  minor: number;
}

/** The first `name` on PATH whose version can be read and is wanted. A shim that only fails is passed over. */
export async function findOnPath(name: string, wanted: (found: Found) => boolean): Promise<Found | undefined> {
  for (const directory of (process.env.PATH ?? '').split(delimiter).filter(Boolean)) {
    const found = await withVersion(join(directory, executable(name)));
    if (found && wanted(found)) return found;
  }
  return undefined;
}

/** Asks the program for its version; undefined when it is not there, cannot run, or does not say. */
export async function withVersion(file: string): Promise<Found | undefined> {
  try {
    accessSync(file, constants.X_OK);
    if (!statSync(file).isFile()) return undefined;
    const { stdout } = await run(file, ['--version'], {
      timeout: 10_000,
      cwd: process.platform === 'win32' ? undefined : '/',
    });
    const version = /(\d+)\.(\d+)/.exec(stdout) ?? /(\d+)()/.exec(stdout);
    return version ? { file, major: Number(version[1]), minor: Number(version[2]) } : undefined;
  } catch {
    return undefined;
  }
}

export function executable(name: string): string {
  return process.platform === 'win32' ? `${name}.exe` : name;
}
