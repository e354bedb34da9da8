import type { ChildProcess } from 'node:child_process';
import { insertRow } from '../support/aged';
import { enqueue, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { Proxy } from '../support/proxy';
import { runCli, spawnCli } from '../support/runCli';

let outbox: TestOutbox;

beforeEach(async () => {
  outbox = await TestOutbox.create();
  // The stream and its subjects are made by whoever comes first.
  await runCli(['drain'], outbox.settings);
});

afterEach(() => outbox.close());

const ENOUGH = 20_000;

function started(args: readonly string[], env: Record<string, string>) {
  const child: ChildProcess = spawnCli(args, env);
  const said = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  outbox.onClose(() => Promise.resolve(void child.kill('SIGKILL')));
  return { child, said, exited };
}

const published = async () => (await outbox.manager.streams.info(outbox.config().nats.stream)).state.messages;

describe('`outbox drain`', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s in the middle of a pass ends it with 1; what went out is done, the rest is due at once, and the result is told',
    async (signal) => {
      await enqueue(outbox.db, events(ENOUGH));
      const { child, said, exited } = started(['drain', '--limit', `${ENOUGH}`, '--json'], outbox.settings);
      await eventually(async () => (await published()) > 10, undefined, 'some events in the stream');
      child.kill(signal);
      expect(await exited).toBe(1);
      expect(said.stderr).toMatch(/error: Interrupted\. .*run it again/);
      const rows = await outbox.rowsByStatus();
      expect(rows).toEqual({ done: await published(), pending: ENOUGH - rows.done! });
      expect(JSON.parse(said.stdout)).toMatchObject({
        ...{ published: rows.done, leftPending: rows.pending, dead: 0, lost: 0, passes: 1, moreDue: true },
      });
    },
  );

  test('a signal ends it also when PostgreSQL says nothing any more, and it says what waits for the lease', async () => {
    const proxy = await Proxy.to(outbox.database.url);
    outbox.onClose(() => proxy.close());
    await enqueue(outbox.db, events(ENOUGH));
    const settings = { ...outbox.settings, DATABASE_URL: proxy.url(outbox.database.url) };
    const { child, said, exited } = started(['drain', '--limit', `${ENOUGH}`], settings);
    await eventually(async () => (await published()) > 10, undefined, 'some events in the stream');
    proxy.silence();
    child.kill('SIGTERM');
    expect(await exited).toBe(1);
    expect(said.stderr).toMatch(/error: Interrupted, and PostgreSQL or NATS does not answer: .*OUTBOX_LEASE_MS/);
  });

  test('ends with 1 and says so when --max-passes leaves events that are due, and with 0 when it leaves none', async () => {
    await enqueue(outbox.db, events(5));
    const first = await runCli(['drain', '--limit', '2', '--max-passes', '2'], outbox.settings);
    expect(first).toMatchObject({ code: 1, stdout: 'Published 4 events.\n' });
    expect(first.stderr).toBe('error: More events are due: run it again, or with a larger --max-passes or --limit.\n');
    const second = await runCli(['drain', '--limit', '1', '--max-passes', '1', '--json'], outbox.settings);
    expect(second).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(second.stdout)).toMatchObject({ published: 1, moreDue: false });
  });
});

describe('`outbox enqueue`', () => {
  const input = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      JSON.stringify({ type: 'T', aggregateType: 'a', aggregateId: '1', payload: { n: index + 1 } }),
    ).join('\n');

  /** Each with its newline: whoever waits for the end of one waits for more. */
  const lines = (from: number, to: number) =>
    `${input(to)
      .split('\n')
      .slice(from - 1)
      .join('\n')}\n`;

  /** Whether a connection of a command is at such a statement. */
  const atWork = async (where: string) =>
    ((
      await outbox.database.owner.query(
        `SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'temporal-outbox cli' AND (${where})`,
      )
    ).rowCount ?? 0) > 0;

  /** What a COMMIT does when it comes to the third event. */
  async function atCommit(does: string): Promise<void> {
    await outbox.database.owner.query(
      `CREATE FUNCTION :schema.at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${does} RETURN NULL; END $$`,
    );
    await outbox.database.owner.query(
      `CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON :schema.event_queue DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
       WHEN (NEW.payload->>'n' = '3') EXECUTE FUNCTION :schema.at_commit()`,
    );
  }

  test.each([
    ['the first transaction', ['--from-line', '3'], 0],
    ['a later one', [], 2],
  ])(
    'a connection lost while %s is committed: it says of which lines nobody knows, and never to write them again',
    async (_, args, committed) => {
      await atCommit('PERFORM pg_sleep(600);');
      const { child, said, exited } = started(['enqueue', '--batch', '2', '--json', ...args], outbox.settings);
      child.stdin?.end(input(6));
      await eventually(
        async () =>
          (
            await outbox.database.owner.query(
              `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE '%commit import%' AND wait_event = 'PgSleep'`,
            )
          ).rowCount,
        undefined,
        'a COMMIT under way',
      );
      expect(await exited).toBe(1);
      expect(said.stderr).toBe(
        'error: The connection was lost while lines 3 to 4 were being committed, so nobody knows whether they are: look before going on, with --from-line 5 if they are, with --from-line 3 if not.\n',
      );
      expect(JSON.parse(said.stdout)).toEqual({
        ...{ enqueued: committed, transactions: committed / 2, nextLine: null },
        unknown: { fromLine: 3, toLine: 4 },
      });
    },
  );

  const CERTAIN =
    'Interrupted, and PostgreSQL does not answer. The lines before line 3 are committed; nothing after them is. Go on with --from-line 3.';

  test.each([
    ['BEGIN', CERTAIN, { nextLine: 3 }],
    ['INSERT', CERTAIN, { nextLine: 3 }],
    [
      'COMMIT',
      'PostgreSQL did not answer while lines 3 to 4 were being committed, so nobody knows whether they are: look before going on, with --from-line 5 if they are, with --from-line 3 if not.',
      { nextLine: null, unknown: { fromLine: 3, toLine: 4 } },
    ],
  ])(
    'a signal ends it also when PostgreSQL says nothing any more to a %s, and it says where to go on',
    async (statement, reason, rest) => {
      const { database } = outbox;
      const proxy = await Proxy.to(database.url);
      outbox.onClose(() => proxy.close());
      const settings = { ...outbox.settings, DATABASE_URL: proxy.url(database.url) };
      const { child, said, exited } = started(['enqueue', '--batch', '2', '--json'], settings);
      child.stdin?.write(lines(1, 2));
      const stored = async () => (await database.owner.query('SELECT FROM :schema.event_queue')).rowCount;
      await eventually(async () => (await stored()) === 2, undefined, 'a first transaction');

      const other = await database.owner.pool.connect();
      try {
        if (statement === 'BEGIN') proxy.silence();
        if (statement === 'INSERT')
          await other.query(`BEGIN; LOCK TABLE ${database.schema}.event_queue IN EXCLUSIVE MODE`);
        if (statement === 'COMMIT') await atCommit('PERFORM pg_sleep(600);');
        child.stdin?.write(lines(3, 4));
        const underWay = {
          BEGIN: () => proxy.swallowed > 0,
          INSERT: () => atWork(`wait_event_type = 'Lock' AND query LIKE '%outbox: enqueue%'`),
          COMMIT: () => atWork(`wait_event = 'PgSleep' AND query LIKE '%commit import%'`),
        }[statement as 'BEGIN' | 'INSERT' | 'COMMIT'];
        await eventually(underWay, undefined, `a ${statement} under way`);
        proxy.silence();
      } finally {
        other.release(true);
      }
      child.kill('SIGTERM');
      expect(await exited).toBe(1);
      expect(said.stderr).toBe(`error: ${reason}\n`);
      expect(JSON.parse(said.stdout)).toEqual({ enqueued: 2, transactions: 1, ...rest });
      if (statement === 'COMMIT') return;
      // What its connection left under way is rolled back.
      await eventually(async () => !(await atWork('true')), undefined, 'the end of its connection');
      expect(await stored()).toBe(2);
    },
  );

  test('a COMMIT that PostgreSQL refuses has written nothing, and where to go on is certain', async () => {
    await atCommit(`RAISE EXCEPTION 'not on a Sunday';`);
    const { code, stdout, stderr } = await runCli(['enqueue', '--batch', '2'], outbox.settings, input(6));
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'Enqueued 2 events in 1 transaction.\n' });
    expect(stderr).toBe(
      'error: not on a Sunday. The lines before line 3 are committed; nothing after them is. Go on with --from-line 3.\n',
    );
  });
});

describe('`outbox prune`', () => {
  test('a signal ends it also when PostgreSQL says nothing any more, and it says that the rest is left', async () => {
    const { database } = outbox;
    const proxy = await Proxy.to(database.url);
    outbox.onClose(() => proxy.close());
    await insertRow(outbox.db, 'done', { age: '8 days' });
    const other = await database.owner.pool.connect();
    try {
      await other.query(`BEGIN; LOCK TABLE ${database.schema}.event_queue IN ACCESS EXCLUSIVE MODE`);
      const settings = { ...outbox.settings, DATABASE_URL: proxy.url(database.url) };
      const { child, said, exited } = started(['prune', '--only', 'done'], settings);
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await eventually(async () => (await database.owner.query(waiting)).rowCount, undefined, 'a statement under way');
      proxy.silence();
      child.kill('SIGTERM');
      expect(await exited).toBe(1);
      expect(said.stderr).toMatch(
        /error: Interrupted, and PostgreSQL does not answer: .*Run it again for the rest\.\n$/,
      );
    } finally {
      other.release(true);
    }
  });
});
