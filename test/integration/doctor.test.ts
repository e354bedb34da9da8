import { AckPolicy } from '@nats-io/jetstream';
import { nanos } from 'nats';
import { examine } from '../../src/doctor/examine';
import type { Finding, Level } from '../../src/doctor/finding';
import { ownerOf } from '../support/database';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { recordHandlers } from '../support/deliveries';
import { TestOutbox, type Settings } from '../support/outbox';
import '../support/printedRoles';
import { runCli } from '../support/runCli';

let outbox: TestOutbox;

beforeAll(async () => {
  // What a message waits for its second delivery is what the look for unowned ones takes.
  outbox = await TestOutbox.create({ OUTBOX_ACK_WAIT_MS: '2000' });
  await outbox.startWorker();
});
afterAll(() => outbox.close());

async function findings(settings: Settings = {}, appRole?: string): Promise<Finding[]> {
  process.env.TEMPORAL_ADDRESS = settings.TEMPORAL_ADDRESS ?? outbox.settings.TEMPORAL_ADDRESS;
  return examine(outbox.config(settings), appRole);
}

function of(found: readonly Finding[], check: string, level: Level): Finding {
  const match = found.find((each) => each.check === check && each.level === level);
  if (!match)
    throw new Error(`no ${level} of ${check} in ${JSON.stringify(found.filter((each) => each.check === check))}`);
  return match;
}

test('finds nothing but warnings where all is in order, and says of each thing that it is', async () => {
  const found = await eventually(async () => {
    const all = await findings();
    return all.some(({ level }) => level === 'fault' || level === 'unknown') ? Promise.reject(new Error(JSON.stringify(all))) : all; // prettier-ignore
  }, 120_000);
  const inOrder = found.filter(({ level }) => level === 'ok').map(({ check }) => check);
  expect(inOrder).toEqual(
    expect.arrayContaining([
      ...['PostgreSQL', 'wake-ups', 'tables', 'privileges', 'NATS', 'stream', 'consumer', 'dedup horizon'],
      ...['Temporal', 'search attributes', 'runs', 'unowned messages', 'clocks', 'autovacuum'],
    ]),
  );
  expect(of(found, 'workers', 'warning').what).toMatch(/One worker/);
});

test('`outbox doctor` exits with 0 without a fault, and with 1 and what to do with one, with nothing secret', async () => {
  const fine = await runCli(['doctor', '--json'], outbox.settings);
  expect(fine.code).toBe(0);
  expect((JSON.parse(fine.stdout) as Finding[]).length).toBeGreaterThan(10);
  const bad = await runCli(['doctor'], { ...outbox.settings, NATS_URL: 'nats://S3CRET@127.0.0.1:1' });
  expect(bad.code).toBe(1);
  expect(bad.stdout).toMatch(/unknown +NATS +NATS at \S+ cannot be used .*NATS_URL/);
  expect(bad.stdout).toMatch(/ok +PostgreSQL/);
  expect(bad.stdout + bad.stderr).not.toContain('S3CRET');
});

test('of servers that are away it says so, and looks at the others', async () => {
  const found = await findings({
    DATABASE_URL: 'postgres://me:S3CRET@127.0.0.1:1/none',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
  });
  expect(of(found, 'PostgreSQL', 'unknown').what).toMatch(/cannot be reached/);
  expect(of(found, 'Temporal', 'unknown').what).toMatch(/cannot be reached at 127\.0\.0\.1:1/);
  expect(of(found, 'stream', 'ok')).toBeDefined();
  expect(JSON.stringify(found)).not.toContain('S3CRET');
});

test('a privilege that is missing is named with its GRANT, of a worker and of an application', async () => {
  const { db, database } = outbox;
  const [worker, app] = [`w_${database.schema}`, `a_${database.schema}`];
  await ownerOf(db).query(`CREATE ROLE ${worker} LOGIN`);
  await ownerOf(db).query(`CREATE ROLE ${app} LOGIN`);
  await ownerOf(db).query(`GRANT USAGE ON SCHEMA :schema TO ${worker}, ${app}`);
  await ownerOf(db).query(`GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA :schema TO ${worker}`);
  try {
    const url = new URL(database.url);
    url.username = worker;
    const found = await findings({ DATABASE_URL: url.toString() }, app);
    const faults = found.filter(({ check, level }) => check === 'privileges' && level === 'fault');
    expect(faults[0]?.what).toMatch(new RegExp(`role ${worker} lacks DELETE on deliveries; DELETE on event_queue`));
    expect(faults[1]?.todo).toContain(
      `GRANT INSERT (event_id, event_type, aggregate_type, aggregate_id, company_id, org_unit_id, payload, headers, version, correlation_id, causation_id, occurred_at, available_at) ON "${database.schema}".event_queue TO "${app}"`,
    );
    for (const { todo } of faults) await ownerOf(db).query((todo ?? '').replace(/^[^:]*: /, ''));
    const again = await findings({ DATABASE_URL: url.toString() }, app);
    expect(again.filter(({ check }) => check === 'privileges').map(({ level }) => level)).toEqual(['ok', 'ok']);
  } finally {
    for (const role of [worker, app]) {
      await ownerOf(db).query(`DROP OWNED BY ${role}`);
      await ownerOf(db).query(`DROP ROLE ${role}`);
    }
  }
});

test('tables that are older than this build are a fault, with the command', async () => {
  const { db } = outbox;
  const { rows } = await ownerOf(db).query<{ version: number; name: string; breaking: boolean }>(
    `DELETE FROM :schema.outbox_migrations WHERE version = (SELECT max(version) FROM :schema.outbox_migrations) RETURNING version, name, breaking`,
  );
  const found = await findings();
  await ownerOf(db).query(`INSERT INTO :schema.outbox_migrations (version, name, breaking) VALUES ($1, $2, $3)`, [
    ...[rows[0]?.version, rows[0]?.name, rows[0]?.breaking],
  ]);
  expect(of(found, 'tables', 'fault').todo).toBe(`Run: OUTBOX_SCHEMA=${db.schema} outbox migrate`);
});

test('a stream that is absent, takes other subjects, or keeps longer than the ledger remembers, is told', async () => {
  const absent = await findings({ OUTBOX_STREAM: 'NOSUCH' });
  expect(of(absent, 'stream', 'fault').what).toBe('There is no stream NOSUCH.');
  expect(of(await findings({ OUTBOX_SUBJECT_PREFIX: 'other' }), 'stream', 'fault').todo).toMatch(
    /OUTBOX_SUBJECT_PREFIX/,
  );
  const { stream } = outbox.config().nats;
  const { config } = await outbox.manager.streams.info(stream);
  await outbox.manager.streams.update(stream, { ...config, max_age: nanos(31 * 86_400_000) });
  expect(of(await findings(), 'dedup horizon', 'fault').todo).toMatch(/OUTBOX_LEDGER_RETENTION_MS/);
  await outbox.manager.streams.update(stream, config);
});

test('a stream from which another installation handles too is told, and a relay that somebody has paused', async () => {
  const { stream } = outbox.config().nats;
  await outbox.manager.consumers.add(stream, { durable_name: 'outbox-other', ack_policy: AckPolicy.Explicit });
  await outbox.relay().signal('pause');
  try {
    await eventually(async () => (await outbox.relay().query<{ state: string }>('status')).state === 'paused');
    const found = await findings();
    expect(of(found, 'stream', 'warning').todo).toContain(`nats consumer rm ${stream} outbox-other`);
    expect(of(found, 'runs', 'warning')).toMatchObject({
      what: expect.stringMatching(/^The relay .* is paused\.$/) as string,
      todo: expect.stringMatching(/run: outbox resume$/) as string,
    });
  } finally {
    await outbox.relay().signal('resume');
    await outbox.manager.consumers.delete(stream, 'outbox-other');
  }
});

test('settings that are not those of the installation are told, whichever they are', async () => {
  const other = (settings: Settings) => findings(settings).then((found) => of(found, 'runs', 'fault').what);
  expect(await other({ EVENT_BUS_BACKEND: 'db' })).toMatch(/another EVENT_BUS_BACKEND: it has nats, these settings db/);
  expect(await other({ OUTBOX_STREAM: 'NOSUCH' })).toMatch(/another OUTBOX_STREAM/);
  const queue = of(await findings({ OUTBOX_TASK_QUEUE: 'nobody-polls-it' }), 'workers', 'fault');
  expect(queue.what).toMatch(/No worker polls the task queue nobody-polls-it/);
});

test('a namespace without the search attributes, and one that is not there, are told with the command', async () => {
  const { client } = outbox;
  const namespace = `n-${outbox.database.schema.replace('_', '-')}`;
  await client.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  process.env.TEMPORAL_NAMESPACE = namespace;
  try {
    const found = await eventually(async () => of(await findings(), 'search attributes', 'warning'), 60_000);
    expect(found.todo).toMatch(new RegExp(`search-attribute create --namespace ${namespace} --name OutboxEventType`));
    process.env.TEMPORAL_NAMESPACE = 'nosuch';
    expect(of(await findings(), 'Temporal', 'fault').todo).toMatch(/namespace create --namespace nosuch/);
  } finally {
    delete process.env.TEMPORAL_NAMESPACE;
  }
});

test('a table whose autovacuum is off is told, with what turns it on', async () => {
  const { db } = outbox;
  await ownerOf(db).query(`ALTER TABLE :schema.deliveries SET (autovacuum_enabled = off)`);
  expect(of(await findings(), 'autovacuum', 'fault').todo).toMatch(/ALTER TABLE .*deliveries RESET/);
  await ownerOf(db).query(`ALTER TABLE :schema.deliveries RESET (autovacuum_enabled)`);
});

test('a message that was delivered and belongs to nobody is told by its sequence', async () => {
  const own = await TestOutbox.create({ OUTBOX_ACK_WAIT_MS: '1000' });
  try {
    const { stream, durable } = own.config().nats;
    const worker = await own.startWorker();
    await recordHandlers(own.db, { mail: ['ThingHappened'] });
    await enqueue(own.db, [event()]);
    await own.allDone();
    await worker.stop();
    await own.manager.consumers.update(stream, durable, { max_deliver: 1 });
    const { jetstream } = await import('@nats-io/jetstream');
    const pulled = await jetstream(own.nats).consumers.get(stream, durable);
    expect(await pulled.next({ expires: 5_000 })).not.toBeNull();
    process.env.TEMPORAL_ADDRESS = own.settings.TEMPORAL_ADDRESS;
    const found = await examine(own.config(), undefined);
    expect(of(found, 'unowned messages', 'warning').what).toMatch(/^1 messages were delivered, .* sequence 1\. /);
    expect(of(found, 'consumer', 'warning').todo).toMatch(/nats consumer edit .* --max-deliver=10/);
  } finally {
    await own.close();
  }
});

test('a consumer that acknowledges in another way cannot be used', async () => {
  const name = `K_${outbox.database.schema}`;
  await outbox.manager.streams.add({ name, subjects: [`k_${outbox.database.schema}.>`] });
  try {
    await outbox.manager.consumers.add(name, {
      durable_name: outbox.config().nats.durable,
      ack_policy: AckPolicy.None,
    });
    const found = await findings({ OUTBOX_STREAM: name, OUTBOX_SUBJECT_PREFIX: `k_${outbox.database.schema}` });
    expect(of(found, 'consumer', 'fault').what).toMatch(/acknowledges by none/);
  } finally {
    await outbox.manager.streams.delete(name);
  }
});
