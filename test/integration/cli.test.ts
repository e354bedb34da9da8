import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cloneDatabase, emptyDatabase, type TestDatabase } from '../support/database';
import { enqueue, events } from '../support/events';
import { runCli, spawnCli } from '../support/runCli';

let database: TestDatabase;
let directory: string;
const env = () => ({ DATABASE_URL: database.url, OUTBOX_SCHEMA: database.schema });

beforeAll(async () => {
  database = await cloneDatabase();
  directory = mkdtempSync(join(tmpdir(), 'outbox-cli-'));
});

afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await database.drop();
});

beforeEach(async () => {
  await database.db.query(`TRUNCATE :schema.event_queue`);
});

async function rowCount(): Promise<number> {
  const { rows } = await database.db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM :schema.event_queue`,
  );
  return rows[0]?.count ?? -1;
}

async function bury(ids: readonly string[], reason = 'too large'): Promise<void> {
  await database.db.query(
    `UPDATE :schema.event_queue SET status = 'dead_lettered', failed_at = clock_timestamp(), failure_reason = $2
      WHERE event_id = ANY ($1::uuid[])`,
    [ids, reason],
  );
}

const lineOf = (n: number, over: object = {}) =>
  JSON.stringify({ type: 'T', aggregateType: 'a', aggregateId: '1', payload: { n }, ...over });
const linesOf = (count: number) => Array.from({ length: count }, (_, index) => lineOf(index + 1));

describe('use', () => {
  test('--help shows verbs, environment, exit codes and examples on stdout', async () => {
    const { code, stdout, stderr } = await runCli(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const part of ['enqueue', 'reemit', 'Environment:', 'DATABASE_URL', 'Exit codes:', 'Examples:']) {
      expect(stdout).toContain(part);
    }
    // What does not fit into a terminal is not read.
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test('is without colours where the output is no terminal; FORCE_COLOR asks for them, and NO_COLOR has the last word', async () => {
    for (const args of [['--help'], ['status', '--help'], ['config']]) {
      expect((await runCli(args)).stdout).not.toContain('\u001b');
      expect((await runCli(args, { FORCE_COLOR: '1' })).stdout).toContain('\u001b');
      expect((await runCli(args, { FORCE_COLOR: '1', NO_COLOR: '1' })).stdout).not.toContain('\u001b');
    }
  });

  test.each([
    [['nosuch']],
    [[]],
    [['dead']],
    [['status', '--nosuch']],
    [['migrate', 'extra']],
    [['enqueue', '--batch', '0']],
    [['dead', 'list', '--since', 'yesterday']],
    [['dead', 'list', '--company', '7']],
    [['reemit']],
    [['reemit', '--all', '5f0c7b0e-2f43-4c0e-9d58-0d8f3a5f8a11']],
    [['reemit', '5f0c7b0e-2f43-4c0e-9d58-0d8f3a5f8a11', '--type', 'T']],
    [['show', 'no-id']],
    [['retry']],
    [['skip', '5f0c7b0e-2f43-4c0e-9d58-0d8f3a5f8a11', '--reason', 'r']],
    [['skip', '5f0c7b0e-2f43-4c0e-9d58-0d8f3a5f8a11', '--handler', 'h', '--reason', ' ']],
    [['forget', 'h']],
    [['completion', 'csh']],
  ])('`outbox %s` is wrong use: exit code 2, and a word on stderr only', async (args) => {
    const { code, stdout, stderr } = await runCli(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).not.toBe('');
    expect(stderr).not.toContain('    at ');
  });

  test('problems of the settings are listed all at once', async () => {
    const { code, stderr } = await runCli(['migrate'], { OUTBOX_SCHEMA: 'a-b', NATS_MODE: 'x', OUTBOX_NOSUCH: '1' });
    expect(code).toBe(1);
    expect(stderr).toContain('OUTBOX_SCHEMA: ');
    expect(stderr).toContain('NATS_MODE: ');
    expect(stderr).toContain('OUTBOX_NOSUCH: ');
  });

  test.each([[['migrate']], [['dead', 'list']], [['enqueue']]])(
    '`outbox %s` without PostgreSQL says so in one sentence, without a secret; debug adds the stack',
    async (args) => {
      const { code, stdout, stderr } = await runCli(args, {}, lineOf(1));
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^error: PostgreSQL at \S+ cannot be reached \(.*\): check that it runs, and DATABASE_URL\./,
      );
      expect(stderr.trim()).not.toContain('\n');
      const debug = await runCli(args, { OUTBOX_LOG_LEVEL: 'debug' }, lineOf(1));
      expect(debug.stderr).toContain('    at ');
      expect(stdout + stderr + debug.stderr).not.toContain('S3CRET');
    },
  );

  test('`outbox config` shows the settings without their secrets', async () => {
    const { code, stdout } = await runCli(['config', '--json'], { TEMPORAL_API_KEY: 'S3CRET', OUTBOX_BATCH_SIZE: '7' });
    expect(code).toBe(0);
    expect(stdout).not.toContain('S3CRET');
    const settings = JSON.parse(stdout) as { variable: string; value: unknown; source: string }[];
    expect(settings).toContainEqual({ variable: 'OUTBOX_BATCH_SIZE', value: 7, source: 'given' });
    expect(settings).toContainEqual({ variable: 'TEMPORAL_API_KEY', value: '***', source: 'given' });
    expect((await runCli(['config'])).stdout).toMatch(/^VARIABLE +VALUE +FROM\nDATABASE_URL .* given\n/);
  });

  test("`outbox config` tells of Temporal's settings that cannot be used in one sentence, without a secret", async () => {
    const file = join(directory, 'temporal.toml');
    writeFileSync(file, '[profile.default]\napi_key = "S3CRET\n');
    const unusable: [Record<string, string>, says: RegExp][] = [
      [{ TEMPORAL_CONFIG_FILE: file }, /^error: Temporal's settings cannot be read .*TEMPORAL_CONFIG_FILE/],
      [{ TEMPORAL_API_KEY: 'S3CRET\n' }, /^error: Temporal's settings cannot be read .*TEMPORAL_API_KEY/],
    ];
    for (const [given, says] of unusable) {
      for (const level of ['info', 'debug']) {
        const { code, stdout, stderr } = await runCli(['config'], { ...given, OUTBOX_LOG_LEVEL: level });
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
        expect(stderr).toMatch(says);
        if (level === 'info') expect(stderr.trim()).not.toContain('\n');
        expect(stderr).not.toContain('S3CRET');
      }
    }
  });

  test('a reader that has seen enough is no failure', async () => {
    const child = spawnCli(['config']);
    child.stdout?.destroy();
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('migrate', () => {
  test('creates the tables once; --check tells before and after; other verbs name it', async () => {
    const empty = await emptyDatabase();
    try {
      const given = { DATABASE_URL: empty.url };
      expect((await runCli(['dead', 'list'], given)).stderr).toMatch(/lacks the outbox tables.*run `outbox migrate`/);
      expect((await runCli(['migrate', '--check'], given)).code).toBe(1);
      const first = await runCli(['migrate', '--json'], given);
      expect(first.code).toBe(0);
      expect((JSON.parse(first.stdout) as { applied: string[] }).applied[0]).toBe('0001_event_queue');
      expect((await runCli(['migrate'], given)).stdout).toMatch(/^Schema public is up to date \(version \d+\)\.\n$/);
      expect((await runCli(['migrate', '--check'], given)).code).toBe(0);
    } finally {
      await empty.drop();
    }
  });
});

describe('enqueue', () => {
  test('writes the lines of a file in their order, --batch lines to a transaction', async () => {
    const file = join(directory, 'events.ndjson');
    writeFileSync(file, linesOf(7).join('\n'));
    const { code, stdout, stderr } = await runCli(['enqueue', file, '--batch', '3', '--json'], env());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ enqueued: 7, transactions: 3, nextLine: 8 });
    const { rows } = await database.db.query<{ n: number; transaction: string }>(
      `SELECT (payload->>'n')::integer AS n, xmin::text AS transaction FROM :schema.event_queue ORDER BY available_at, id`,
    );
    expect(rows.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(new Set(rows.map(({ transaction }) => transaction)).size).toBe(3);
  });

  test('a bad line is named, nothing of its transaction is kept, and --from-line goes on after the ones before', async () => {
    const lines = linesOf(6);
    lines[4] = lineOf(5, { type: 'not a type' });
    const failed = await runCli(['enqueue', '--batch', '2'], env(), lines.join('\n'));
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/^error: Line 5: type "not a type" must match .* Go on with --from-line 5\.\n$/);
    expect(await rowCount()).toBe(4);

    lines[4] = lineOf(5);
    const resumed = await runCli(['enqueue', '--batch', '2', '--from-line', '5'], env(), lines.join('\n'));
    expect(resumed.code).toBe(0);
    expect(await rowCount()).toBe(6);
  });

  test('an id that is in the outbox already is named by its line', async () => {
    const eventId = '5f0c7b0e-2f43-4c0e-9d58-0d8f3a5f8a11';
    await runCli(['enqueue'], env(), lineOf(1, { eventId }));
    const { code, stderr } = await runCli(['enqueue'], env(), [lineOf(1), lineOf(2, { eventId })].join('\n'));
    expect(code).toBe(1);
    expect(stderr).toBe(`error: Line 2: the event id ${eventId} is in the outbox already. Nothing was enqueued.\n`);
    expect(await rowCount()).toBe(1);
  });

  test('a file that is not there is named', async () => {
    const { code, stderr } = await runCli(['enqueue', join(directory, 'nosuch')], env());
    expect(code).toBe(1);
    expect(stderr).toMatch(/nosuch cannot be read: there is no such file\./);
  });

  test('what is said of a bad line holds nothing of its payload', async () => {
    const line = lineOf(1, { payload: { name: 'Mrs. Private', n: 1 } }).slice(0, -1);
    expect((await runCli(['enqueue'], env(), line)).stderr).not.toContain('Private');
  });
});

describe('dead list and reemit without Temporal', () => {
  test('lists the oldest first, by filter, and says when there are more', async () => {
    const ids = await enqueue(
      database.db,
      events(3, (index) => ({ type: index === 0 ? 'Other' : 'Thing' })),
    );
    for (const id of ids) await bury([id], 'bad \u001b[31mred');
    const all = await runCli(['dead', 'list', '--json'], env());
    expect((JSON.parse(all.stdout) as { eventId: string }[]).map(({ eventId }) => eventId)).toEqual(ids);

    const some = await runCli(['dead', 'list', '--type', 'Thing', '--limit', '1'], env());
    expect(some.stdout).toContain(ids[1]);
    expect(some.stdout).not.toContain(ids[0]);
    expect(some.stdout).not.toContain(ids[2]);
    expect(some.stdout).not.toContain('\u001b');
    expect(some.stderr).toMatch(/there are more/);

    const none = await runCli(['dead', 'list', '--since', '2999-01-01'], env());
    expect(none).toMatchObject({ code: 0, stdout: 'No dead letters.\n' });
  });

  test('reemit goes through the database and says so; what is not revived is named, with exit code 1', async () => {
    const [dead, pending] = await enqueue(database.db, events(2));
    await bury([dead ?? '']);
    const { code, stdout, stderr } = await runCli(['reemit', dead ?? '', pending ?? '', '--json'], env());
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ revived: [dead], via: 'database' });
    expect(stderr).toMatch(/TEMPORAL_ADDRESS/);
    expect(stderr).toMatch(/directly through the database/);
    expect(stderr).toContain(`${pending}: pending: it is not a dead letter`);
  });

  test('reemit --all revives what the filter lets through, and tells how many', async () => {
    const ids = await enqueue(
      database.db,
      events(3, (index) => ({ type: index === 0 ? 'Other' : 'Thing' })),
    );
    await bury(ids);
    const { code, stdout } = await runCli(['reemit', '--all', '--type', 'Thing'], env());
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Revived 2 dead letters.\n' });
  });
});

describe('status, pause and drain without servers', () => {
  test('status shows the half that answers, and says why the other does not', async () => {
    await enqueue(database.db, events(2));
    const { code, stdout } = await runCli(['status', '--json'], env());
    expect(code).toBe(0);
    const status = JSON.parse(stdout) as { relay: { reason: string }; database: object };
    expect(status.relay).toMatchObject({ available: false });
    expect(status.relay.reason).toMatch(/^Temporal cannot be reached at 127\.0\.0\.1:1: .*TEMPORAL_ADDRESS/);
    expect(status.database).toMatchObject({ available: true, pending: 2, due: 2, deadLettered: 0 });
  });

  test('status with neither half exits with 1', async () => {
    const { code, stdout } = await runCli(['status']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/Relay {2}unavailable[^]*Outbox {2}unavailable/);
  });

  test('pause and drain name the server that they need', async () => {
    expect((await runCli(['pause'], env())).stderr).toMatch(/^error: Temporal cannot be reached at .*TEMPORAL_ADDRESS/);
    const drain = await runCli(['drain'], env());
    expect(drain.code).toBe(1);
    expect(drain.stderr).toMatch(/error: Nothing was published: NATS at \S+ cannot be used/);
    expect(drain.stderr).not.toContain('S3CRET');
  });
});
