import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { enqueue, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';

/** Of util-linux, whose options the others do not have: gives a command a terminal without a library. */
const hasScript = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') ?? false;
const onTerminal = hasScript ? describe : describe.skip;
const title = hasScript ? 'on a terminal' : 'on a terminal (skipped: there is no `script` of util-linux here)';

onTerminal(title, () => {
  let outbox: TestOutbox;
  beforeAll(async () => {
    outbox = await TestOutbox.create();
  });
  afterAll(() => outbox.close());

  function run(...args: string[]) {
    const command = [process.execPath, join('dist', 'cli.js'), ...args].join(' ');
    const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      cwd: join(__dirname, '..', '..'),
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: 'xterm', ...outbox.settings },
    });
    const seen = { text: '', code: undefined as number | null | undefined };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (seen.text += text));
    child.once('close', (code) => (seen.code = code));
    outbox.onClose(() => Promise.resolve(void child.kill()));
    const ended = () => eventually(() => seen.code !== undefined);
    return { seen, ended, type: (keys: string) => child.stdin.write(keys) };
  }

  it('drain shows how far it is while it publishes, and its result afterwards', async () => {
    const worker = await outbox.startWorker();
    await worker.stop();
    await enqueue(outbox.db, events(300));
    const { seen, ended } = run('drain');
    await ended();
    expect(seen.text).toMatch(/\d+ events? tried \| \d+s/);
    expect(seen.code).toBe(0);
    await outbox.allDone();
  });

  it('status --watch draws over its page until Ctrl-C, and gives the cursor back', async () => {
    const { seen, ended, type } = run('status', '--watch');
    // Two looks: the second begins at the top of the screen, without clearing it.
    await eventually(() => seen.text.split('\u001b[H').length > 2);
    expect(seen.text.split('\u001b[2J')).toHaveLength(2);
    type('\u0003');
    await ended();
    expect(seen.text).toMatch(/\u001b\[\?7h\u001b\[\?25h\s*$/); // eslint-disable-line no-control-regex -- what a terminal is told
  });
});
