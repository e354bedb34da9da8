import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/servers/ports';
import { eventually } from '../support/eventually';

/** What `npm start` runs after its set-up, on ports of its own. Three starts of three servers take their time. */
jest.setTimeout(120_000);

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
      ['--import', 'tsx', 'examples/movie-diary/main.ts', '--directory', directory, ...args],
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
      await Promise.race([eventually(() => output.includes(text), 60_000, text), ended]);
    };
    return { child, exited, says, output: () => output };
  }

  it('moves 3,201 films through outbox, relay and stream, ends with 0 when each is there once, and again over the same data', async () => {
    const directory = newDirectory();
    for (const run of ['first', 'second']) {
      const { exited, output } = await start(directory, ['--exit']);
      expect({ run, code: await exited, output: output() }).toMatchObject({ run, code: 0 });
      expect(output()).toContain('Every event is in the stream exactly once.');
      expect(output()).toMatch(/events published\s*│\s*3,201/);
      expect(processesNaming(directory)).toEqual([]);
    }
  });

  it("stays up until the terminal's Ctrl-C, and leaves no process behind", async () => {
    const directory = newDirectory();
    const { child, exited, says, output } = await start(directory, []);
    await says('Up until Ctrl-C');
    expect(output()).toMatch(/Temporal UI: http:\/\/127\.0\.0\.1:\d+/);
    process.kill(-child.pid!, 'SIGINT');
    expect(await exited).toBe(0);
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
  for (const name of ['DATABASE_URL', 'NATS_URL', 'TEMPORAL_ADDRESS', 'OUTBOX_TEST']) delete kept[name];
  return kept;
}

async function occupyPort(): Promise<{ port: number; close: () => Promise<void> }> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}
