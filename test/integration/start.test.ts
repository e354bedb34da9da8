import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/servers/ports';
import { eventually } from '../support/eventually';

/** What `npm start` runs after its set-up, on ports of its own. Two whole runs beside other tests take their time. */
jest.setTimeout(300_000);

/** Enough for each kind of thing to happen. */
const FEW = ['--films', '20'];
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
  async function start(directory: string, args: string[], env: NodeJS.ProcessEnv = {}, given?: string[]) {
    const ports = given ?? (await drawPorts());
    const child = spawn(
      process.execPath,
      ['--require', 'tsx/cjs', 'examples/movie-diary/demo/main.ts', '--directory', directory, ...args],
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
          DIARY_PORT: ports[4],
          DIARY_SECOND_PORT: ports[5],
          DIARY_METADATA_PORT: ports[6],
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

  it('replays the diary on two instances and ends with 0 when everything agrees by id; replayed again over the same data it still does', async () => {
    const directory = newDirectory();
    const ports = await drawPorts();
    const { exited, output } = await start(directory, ['--exit', ...FEW], {}, ports);
    await succeeded(exited, output);
    expectExact(output());
    expect(processesNaming(directory)).toEqual([]);
    const larger = await start(directory, ['--exit', '--films', '21'], {}, ports);
    expect(await larger.exited).toBe(1);
    expect(larger.output()).toContain('holds a diary of 20 films');

    // The same requests meet what they have made already; then up until the terminal's Ctrl-C.
    const again = await start(directory, FEW, {}, ports);
    await again.says('Up until Ctrl-C');
    expectExact(again.output());
    expect(again.output()).toMatch(/The first event was handled \d+\.\d s after the start\./);
    expect(again.output()).toMatch(/Temporal UI: http:\/\/127\.0\.0\.1:\d+/);
    process.kill(-again.child.pid!, 'SIGINT');
    expect(await again.exited).toBe(0);
    expect(processesNaming(directory)).toEqual([]);
  });

  it('does the same in the backend db, and tells setting and way out to whoever uses its directory for the other', async () => {
    const directory = newDirectory();
    const { exited, output } = await start(directory, ['--exit', ...FEW], { EVENT_BUS_BACKEND: 'db' });
    await succeeded(exited, output);
    expectExact(output());

    const other = await start(directory, ['--exit', ...FEW]);
    expect(await other.exited).toBe(1);
    expect(other.output()).toContain('EVENT_BUS_BACKEND');
    expect(other.output()).toContain('--fresh');
    expect(other.output()).not.toMatch(/^\s+at /m);
    expect(processesNaming(directory)).toEqual([]);
  });

  it('stops what it has started when it is interrupted in the middle', async () => {
    const directory = newDirectory();
    const { child, exited, says } = await start(directory, ['--exit']);
    await says('Two movie diaries run');
    process.kill(-child.pid!, 'SIGTERM');
    expect(await exited).not.toBe(0);
    expect(processesNaming(directory)).toEqual([]);
  });

  it('stops what it has started when its terminal is closed, which takes no more lines', async () => {
    const directory = newDirectory();
    const { child, exited, says } = await start(directory, []);
    await says('Two movie diaries run');
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

  it('names a busy port of an instance and its variable before it starts anything', async () => {
    const directory = newDirectory();
    const { port, close } = await occupyPort();
    const { exited, output } = await start(directory, ['--exit'], { DIARY_SECOND_PORT: `${port}` });
    expect(await exited).toBe(1);
    await close();
    expect(output()).toContain(`The port ${port} cannot be used`);
    expect(output()).toContain('DIARY_SECOND_PORT');
    expect(output()).not.toMatch(/^\s+at /m);
  });

  it('tells an unknown option in one sentence, with exit code 2', async () => {
    const { exited, output } = await start(newDirectory(), ['--forever']);
    expect(await exited).toBe(2);
    expect(output()).not.toMatch(/^\s+at /m);
  });
});

/** Different ones: two draws of a free port may be the same. */
async function drawPorts(): Promise<string[]> {
  const ports: string[] = [];
  while (ports.length < 7) {
    const port = `${await freePort()}`;
    if (!ports.includes(port)) ports.push(port);
  }
  return ports;
}

/** With all that was said, where it was not. */
async function succeeded(exited: Promise<number | null>, output: () => string): Promise<void> {
  const code = await exited;
  if (code !== 0) throw new Error(`it ended with ${code}:\n${output()}`);
}

/** Each comparison is there, and finds no difference. */
function expectExact(output: string): void {
  expect(output).toContain('Everything agrees exactly.');
  const rows = rowsIn(output);
  expect(rows.filter(([, , ...differences]) => differences.some((count) => count !== 0))).toEqual([]);
  const agreed = new Map(rows.map(([name, agree]) => [name, agree]));
  for (const name of [
    'first: outbox, stream and ledger (outbox reconcile: agrees)',
    'first: reviews, as planned',
    'first: search index',
    'first: object store',
    'first: one ImageStored for each film that stayed',
    'second: outbox, stream and ledger (outbox reconcile: agrees)',
    'first to second: activities sent and received',
    'first to second: reviews of those who are followed',
    'second to first: follows',
    'second to first: likes and announcements',
  ])
    expect({ name, agreed: agreed.get(name) }).toEqual({ name, agreed: expect.any(Number) as number });
  expect([...agreed.values()].filter((agree) => agree > 0).length).toBeGreaterThan(15);
}

/** The rows of the table: a name, and how many agree, are missing, unexpected and different. */
function rowsIn(output: string): [string, number, number, number, number][] {
  const cells = '│ +([\\d,]+) '.repeat(4);
  return [...output.matchAll(new RegExp(`^│ (\\S[^│]*?) +${cells}│`, 'gm'))].map(([, name = '', ...counts]) => {
    const [agree = NaN, missing = NaN, unexpected = NaN, different = NaN] = counts.map((count) =>
      Number(count.replaceAll(',', '')),
    );
    return [name, agree, missing, unexpected, different];
  });
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
