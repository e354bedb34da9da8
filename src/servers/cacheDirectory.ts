import { accessSync, constants, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { ServerError } from './serverError';

/** Where fetched binaries are kept: the user's cache, shared by all checkouts, or this directory where there is none. */
export function cacheDirectory(): string {
  const cache = userCache();
  const candidates = [...(cache ? [join(cache, 'temporal-outbox')] : []), resolve('.outbox', 'bin')];
  for (const directory of candidates) {
    try {
      mkdirSync(directory, { recursive: true });
      accessSync(directory, constants.W_OK);
      return directory;
    } catch {
      // Read-only or no home: the next candidate.
    }
  }
  throw new ServerError(
    `Neither ${candidates.join(' nor ')} can be written: set XDG_CACHE_HOME to a directory that can.`,
  );
}

function userCache(): string | undefined {
  // The specification says to ignore a relative XDG_CACHE_HOME.
  const given = process.env.XDG_CACHE_HOME;
  if (given && isAbsolute(given)) return given;
  const home = homedir();
  return isAbsolute(home) ? join(home, '.cache') : undefined;
}
