import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/servers/ports';
import { eventually } from '../support/eventually';

/** What `npm start` runs after its set-up, on ports of its own. Two whole runs beside other tests take their time. */
jest.setTimeout(300_000);

const ROOT = join(__dirname, '..', '..');

describe('npm start', () => {
  const directories: string[] = [];
  const children: ChildProcess[] = [];

  afterAll(() => {
    for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
    for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  });

  function newDirectory(): string {
    const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-start-'));
    directories.push(directory);
    return directory;
  }

  /** A whole session of its own, as a terminal gives one, so that a signal can go to all of it. */
  async function start(directory: string, args: string[], env: NodeJS.ProcessEnv = {}) {
    const ports: string[] = [];
    // Different ones: two draws of a free port may be the same.
    while (ports.length < 4) {
      const port = `${await freePort()}`;
      if (!ports.includes(port)) ports.push(port);
    }
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', 'examples/movie-diary/demo/main.ts', '--directory', directory, ...args],
      {
        cwd: ROOT,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...withoutAddresses(process.env),
          OUTBOX_POSTGRES_PORT: ports[0],
          OUTBOX_NATS_PORT: ports[1],
          OUTBOX_TEMPORAL_PORT: ports[2],
          OUTBOX_TEMPORAL_UI_PORT: ports[3],
          // Inherited by the worker, whose command line does not name the directory.
          OUTBOX_TEST_RUN: directory,
          ...env,
        },
      },
    );
    children.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
    /** Until it has said so; ends with all it said when it has ended instead. */
    const says = async (text: string) => {
      const ended = exited.then((code) => Promise.reject(new Error(`it ended with ${code}: ${output}`)));
      await Promise.race([eventually(() => output.includes(text), 120_000, text), ended]);
    };
    return { child, exited, says, output: () => output };
  }

  it('handles 3,201 films with two handlers, mends the one that dies, and ends with 0 when each is published and handled once', async () => {
    const directory = newDirectory();
    const { exited, output } = await start(directory, ['--exit']);
    expect({ code: await exited, output: output() }).toMatchObject({ code: 0 });
    expectHandled(output(), 'nats');
    expect(processesNaming(directory)).toEqual([]);

    // Again over the same data, with new events; then up until the terminal's Ctrl-C.
    const again = await start(directory, []);
    await again.says('Up until Ctrl-C');
    expectHandled(again.output(), 'nats');
    expect(again.output()).toContain('3201 films are stored from an earlier run');
    expect(again.output()).toMatch(/Temporal UI: http:\/\/127\.0\.0\.1:\d+/);
    process.kill(-again.child.pid!, 'SIGINT');
    expect(await again.exited).toBe(0);
    expect(processesNaming(directory)).toEqual([]);
    expect(keysOfEffects(directory)).toEqual({ all: 2 * 3_201, different: 2 * 3_201 });
  });

  it('handles 3,201 films in the backend db, and tells setting and way out to whoever uses its directory for the other', async () => {
    const directory = newDirectory();
    const { exited, output } = await start(directory, ['--exit'], { EVENT_BUS_BACKEND: 'db' });
    expect({ code: await exited, output: output() }).toMatchObject({ code: 0 });
    expectHandled(output(), 'db');
    expect(keysOfEffects(directory)).toEqual({ all: 3_201, different: 3_201 });

    const other = await start(directory, ['--exit']);
    expect(await other.exited).toBe(1);
    expect(other.output()).toContain('EVENT_BUS_BACKEND');
    expect(other.output()).toContain('--fresh');
    expect(other.output()).not.toMatch(/^\s+at /m);
    expect(processesNaming(directory)).toEqual([]);
  });

  it('stops what it has started when it is interrupted in the middle', async () => {
    const directory = newDirectory();
    const { child, exited, says } = await start(directory, ['--exit']);
    await says('The worker is ready');
    process.kill(-child.pid!, 'SIGTERM');
    expect(await exited).not.toBe(0);
    expect(processesNaming(directory)).toEqual([]);
  });

  it('stops what it has started when its terminal is closed, which takes no more lines', async () => {
    const directory = newDirectory();
    const { child, exited, says } = await start(directory, []);
    await says('The worker is ready');
    child.stdout?.destroy();
    child.stderr?.destroy();
    process.kill(-child.pid!, 'SIGHUP');
    await exited;
    expect(processesNaming(directory)).toEqual([]);
  });

  it('names a busy port and the way out in one sentence, and stops the other servers', async () => {
    const directory = newDirectory();
    const { port, close } = await occupyPort();
    const { exited, output } = await start(directory, ['--exit'], { OUTBOX_NATS_PORT: `${port}` });
    expect(await exited).toBe(1);
    await close();
    expect(output()).toContain(`${port}`);
    expect(output()).toContain('OUTBOX_NATS_PORT');
    expect(output()).not.toMatch(/^\s+at /m);
    expect(processesNaming(directory)).toEqual([]);
  });

  it('tells an unknown option in one sentence, with exit code 2', async () => {
    const { exited, output } = await start(newDirectory(), ['--forever']);
    expect(await exited).toBe(2);
    expect(output()).not.toMatch(/^\s+at /m);
  });
});

function expectHandled(output: string, backend: 'nats' | 'db'): void {
  const table = tableIn(output);
  expect(table).toMatchObject({
    'films stored': 3_201,
    'events enqueued': 3_201,
    'events done': 3_201,
    'ledger entries': 6_402,
    'films indexed': 3_201,
    'indexed twice': 0,
    'posters ordered': 3_201,
    'not ordered': 0,
    'ordered twice': 0,
    'of rolled back': 0,
    'dead letters': 0,
  });
  const published = { 'events published': 3_201, missing: 0, duplicates: 0, 'from rolled back': 0 };
  if (backend === 'nats') expect(table).toMatchObject(published);
  else expect(table).not.toHaveProperty('events published');
  expect(output).toContain('handled exactly once.');
  // The film without a title is refused by each run until it is mended; on a busy machine others may die too.
  expect(output).toMatch(/movie-3054 {2}poster-service, 5 attempts: the poster service answered 422/);
  expect(output).toMatch(/curl -X PUT http:\/\/127\.0\.0\.1:\d+\/titles\/3054 -d Unknown .*&& npx outbox reemit/);
  expect(table['re-emitted']).toBeGreaterThanOrEqual(1);
  // The calls that fail are the same in each run; the dead event has a second delivery run.
  expect(table['delivery runs']).toBeGreaterThanOrEqual(135);
  expect(table.retries).toBeGreaterThanOrEqual(table['delivery runs'] ?? NaN);
  expect(table['calls of the service']).toBeGreaterThanOrEqual(3_340);
  expect(output).toMatch(/The index finds "spielberg jurassic" in: Jurassic Park/);
}

/** Of the poster service's own log, over all runs in the directory. */
function keysOfEffects(directory: string): { all: number; different: number } {
  const lines = readFileSync(join(directory, 'posters.ndjson'), 'utf8').trimEnd().split('\n');
  return { all: lines.length, different: new Set(lines.map((line) => (JSON.parse(line) as { key: string }).key)).size };
}

/** The numbers of the table, by the name of their row. */
function tableIn(output: string): Record<string, number> {
  const rows = [...output.matchAll(/^│ (\S[^│]*?) +│ +([\d,.]+) │/gm)];
  return Object.fromEntries(rows.map(([, name = '', value = '']) => [name, Number(value.replaceAll(',', ''))]));
}

/** Processes that have the directory in their command line or, on Linux, in their environment, as the worker has. */
function processesNaming(directory: string): string[] {
  if (!existsSync('/proc')) {
    const all = execFileSync('ps', ['-A', '-o', 'pid=,args='], { encoding: 'utf8' }).split('\n');
    return all.filter((line) => line.includes(directory));
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
        return command.includes(directory) || environment.includes(directory) ? [`${pid} ${command}`] : [];
      } catch {
        return [];
      }
    });
}

function withoutAddresses(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = { ...env };
  for (const name of ['DATABASE_URL', 'NATS_URL', 'TEMPORAL_ADDRESS', 'OUTBOX_TEST', 'EVENT_BUS_BACKEND'])
    delete kept[name];
  return kept;
}

async function occupyPort(): Promise<{ port: number; close: () => Promise<void> }> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}
