import { enqueue, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { runCli, spawnCli } from '../support/runCli';

let outbox: TestOutbox;

beforeAll(async () => {
  outbox = await TestOutbox.create();
});

afterAll(async () => {
  await outbox.close();
});

const cli = (...args: string[]) => runCli(args, outbox.settings);

test('drain publishes what is due to the stream without a relay', async () => {
  const ids = await enqueue(outbox.db, events(5));
  const { code, stdout } = await cli('drain', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ published: 5, leftPending: 0, dead: 0, lost: 0 });
  expect((await outbox.messages()).map(({ eventId }) => eventId)).toEqual(ids);
});

describe('with a worker', () => {
  beforeAll(async () => {
    await outbox.startWorker();
  });

  test('pause holds events back until resume; status shows both', async () => {
    expect(await cli('pause')).toMatchObject({
      code: 0,
      stdout: 'Paused: nothing is published until `outbox resume`.\n',
    });
    expect(JSON.parse((await cli('pause', '--json')).stdout)).toEqual({ paused: true, changed: false });
    await enqueue(outbox.db, events(3));
    const paused = await cli('status');
    expect(paused.stdout).toMatch(/state +paused[^]*pending +3/);
    expect(await cli('resume')).toMatchObject({ code: 0, stdout: 'Resumed.\n' });
    await outbox.allDone();
  });

  test('reemit goes through the relay, and the event is published', async () => {
    const [id] = await enqueue(outbox.db, events(1));
    await outbox.allDone();
    await outbox.db.query(
      `UPDATE :schema.event_queue SET status = 'dead_lettered', failed_at = clock_timestamp(), attempts = 3
        WHERE event_id = $1`,
      [id],
    );
    const { code, stdout } = await cli('reemit', id ?? '', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ revived: [id], refused: [], via: 'relay' });
    await outbox.allDone();
    const again = await cli('reemit', id ?? '');
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/done: it was published/);
    expect(JSON.parse((await cli('reemit', '--all', '--json')).stdout)).toEqual({ revived: 0, via: 'relay' });
  });

  test('reemit goes well where only the relay reaches the database, also when nothing matches', async () => {
    const elsewhere = { ...outbox.settings, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nowhere' };
    for (const filter of [[], ['--handler', 'mail']]) {
      const { code, stdout } = await runCli(['reemit', '--all', ...filter, '--json'], elsewhere);
      expect({ code, stdout: JSON.parse(stdout) as object }).toEqual({ code: 0, stdout: { revived: 0, via: 'relay' } });
    }
  });

  test('status --watch looks again and again, and Ctrl-C ends it with 0', async () => {
    const child = spawnCli(['status', '--watch', '--interval', '1', '--json'], outbox.settings);
    let stdout = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    const exited = new Promise((resolve) => child.once('close', resolve));
    await eventually(() => stdout.split('\n').length > 2, undefined, 'a second look');
    child.kill('SIGINT');
    expect(await exited).toBe(0);
  });

  test('a relay that was terminated is not shown as one that runs', async () => {
    await outbox.relay().terminate('test');
    const { stdout } = await cli('status', '--json');
    expect((JSON.parse(stdout) as { relay: object }).relay).toMatchObject({ available: false });
    const { code, stderr } = await cli('pause');
    expect(code).toBe(1);
    expect(stderr).toMatch(/Nothing runs as the relay .*`outbox worker`/);
  });
});

test('an unknown namespace is named', async () => {
  const { code, stderr } = await runCli(['resume'], { ...outbox.settings, TEMPORAL_NAMESPACE: 'nosuch' });
  expect(code).toBe(1);
  expect(stderr).toMatch(/has no namespace nosuch: create it, or set TEMPORAL_NAMESPACE/);
});

test('a worker whose TEMPORAL_ADDRESS is none does not wait for it: it ends with code 1 and names the variable', async () => {
  const { code, stdout, stderr } = await runCli(['worker'], { ...outbox.settings, TEMPORAL_ADDRESS: 'http://h:7233' });
  const said = stdout + stderr;
  expect([said, code]).toEqual([expect.stringMatching(/settings cannot be read \(.*: check TEMPORAL_ADDRESS,/), 1]);
  expect(said).not.toContain('does not answer yet');
});

test.each([
  ['`outbox worker`', 'cli.js', ['worker']],
  ['the program worker.js', 'worker.js', []],
] as const)(
  '%s runs until SIGTERM and then exits with 0',
  async (_, program, args) => {
    const child = spawnCli(args, outbox.settings, program);
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const exited = new Promise((resolve) => child.once('close', resolve));
    await eventually(() => stderr.includes('The worker is ready'), 100_000, 'a ready worker');
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
  },
  120_000,
);
