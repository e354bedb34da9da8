import { execFile } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { databaseUser, ownerOf, type DatabaseUser } from './databaseUser';
import { requireFree } from './ports';
import { findPostgres, type PostgresBinaries } from './postgresBinaries';
import { givenServer, silent, type Log, type Server } from './server';
import { ServerError } from './serverError';
import { onFreePort, StartedServer } from './startedServer';

const run = promisify(execFile);

export interface PostgresOptions {
  /** Data goes to `postgres/` below it, the log to `logs/`. */
  directory: string;
  /** Default: a free one. */
  port?: number | undefined;
  /** False for tests: no fsync, so data survives a killed server but not a power cut. Default: true. */
  durable?: boolean | undefined;
  /** A running server to use as it is. */
  url?: string | undefined;
  /** Deletes the data first. */
  fresh?: boolean | undefined;
  log?: Log | undefined;
}

/** Starts PostgreSQL on 127.0.0.1 and resolves when it answers a query. Superuser `postgres`, no password. */
export async function startPostgres(options: PostgresOptions): Promise<Server> {
  if (options.url) return givenServer(options.url);
  const directory = resolve(options.directory);
  const log = options.log ?? silent;
  const data = join(directory, 'postgres');
  const durable = options.durable ?? true;
  let fresh = options.fresh ?? false;
  let binaries: PostgresBinaries;
  let user: DatabaseUser;

  return onFreePort(options.port, async (port) => {
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    const server = new StartedServer({
      name: 'PostgreSQL',
      id: 'postgres',
      directory,
      dataDirectory: data,
      url,
      // The fast shutdown: open transactions are rolled back, nobody is waited for.
      stopSignal: 'SIGINT',
      log,
      async prepare() {
        if (fresh) rmSync(data, { recursive: true, force: true });
        fresh = false;
        await requireFree(port, 'PostgreSQL', 'postgres');
        binaries = await findPostgres(majorOf(data));
        if (!existsSync(join(data, 'PG_VERSION'))) await makeCluster(directory, data, binaries, durable);
        user = databaseUser(binaries.postgres, data);
      },
      command: () => user.command(binaries.postgres, ['-D', data, '-p', String(port), ...settings(durable)]),
      ready: () => answersAQuery(url),
    });
    await server.start();
    log(`PostgreSQL ${binaries!.major} is ready on port ${port}`);
    return server;
  });
}

function settings(durable: boolean): string[] {
  const values = {
    listen_addresses: '127.0.0.1',
    // A socket would need a short path that every user can write to; TCP is enough.
    unix_socket_directories: '',
    // Test files and workers each bring a pool.
    max_connections: 200,
    shared_buffers: '256MB',
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    logging_collector: 'off',
    log_timezone: 'UTC',
    timezone: 'UTC',
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

function majorOf(data: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(join(data, 'PG_VERSION'), 'utf8'), 10);
  } catch {
    return undefined;
  }
}

/** `initdb`, made aside and renamed, so that a run that is killed meanwhile leaves no half of a cluster. */
async function makeCluster(
  directory: string,
  data: string,
  { postgres, initdb }: PostgresBinaries,
  durable: boolean,
): Promise<void> {
  for (const name of readdirSync(directory)) {
    if (name.startsWith('postgres.new-')) rmSync(join(directory, name), { recursive: true, force: true });
  }
  rmSync(data, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const aside = mkdtempSync(join(directory, 'postgres.new-'));
  const owner = ownerOf(aside);
  if (owner) chownSync(aside, owner.uid, owner.gid);
  const options = ['--no-locale', '-E', 'UTF8', '--auth=trust', '-U', 'postgres', ...(durable ? [] : ['--no-sync'])];
  try {
    const { file, args, ...as } = databaseUser(postgres, aside).command(initdb, ['-D', aside, ...options]);
    await run(file, args, { ...as, cwd: '/' });
    renameSync(aside, data);
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    if (error instanceof ServerError) throw error;
    const { stderr, message } = error as Error & { stderr?: string };
    throw new ServerError(
      `PostgreSQL's data directory could not be made in ${directory} (${(stderr || message).trim()}): mend that, or set DATABASE_URL to a running server.`,
      { cause: error },
    );
  }
}

async function answersAQuery(url: string): Promise<void> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 2_000,
    query_timeout: 2_000,
    ssl: false,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('/* outbox: ping */ SELECT 1');
  } finally {
    await client.end().catch(() => undefined);
  }
}
