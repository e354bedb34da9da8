import { randomUUID } from 'node:crypto';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { ownerOf } from '../support/database';
import { deliveryOf, insertDelivery, insertLedger, ledgerOf, recordHandlers, setStatus } from '../support/deliveries';
import { enqueue, event } from '../support/events';
import { TestOutbox } from '../support/outbox';
import '../support/printedRoles';
import { runCli } from '../support/runCli';

/* No worker runs here: of a delivery run the test sees that it was started and what it was told. */

let outbox: TestOutbox;
/** Without Temporal and NATS, which `runCli` sends nowhere. */
let databaseOnly: Record<string, string>;
beforeAll(async () => {
  outbox = await TestOutbox.create();
  databaseOnly = { DATABASE_URL: outbox.database.url, OUTBOX_SCHEMA: outbox.database.schema };
});
afterAll(() => outbox.close());
beforeEach(async () => {
  await ownerOf(outbox.db).query('TRUNCATE :schema.event_queue, :schema.deliveries, :schema.processed_events');
  await recordHandlers(outbox.db, { mail: ['ThingHappened'], bill: ['ThingHappened'] });
});

const cli = (...args: string[]) => runCli(args, outbox.settings);
const offline = (...args: string[]) => runCli(args, databaseOnly);
const runOf = (eventId: string) =>
  outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.database.schema, eventId));

/** The signals that a run was sent, in their order. */
async function signalsOf(eventId: string): Promise<(string | null | undefined)[]> {
  const { events } = await runOf(eventId).fetchHistory();
  return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
    signal ? [signal.signalName] : [],
  );
}

async function startRun(eventId: string): Promise<void> {
  await outbox.client.workflow.start('deliverEvent', {
    workflowId: runOf(eventId).workflowId,
    taskQueue: outbox.config().deliveryTaskQueue,
    args: [],
  });
  outbox.onClose(() => runOf(eventId).terminate('the test is over'));
}

async function dead(...handlers: string[]): Promise<string> {
  const [id = ''] = await enqueue(outbox.db, [event()]);
  for (const handler of handlers) await insertDelivery(outbox.db, { eventId: id, handler });
  await setStatus(outbox.db, id, 'dead_lettered');
  return id;
}

describe('dead letters of handlers', () => {
  test('dead list shows the handler, and finds by it', async () => {
    const id = await dead('mail', 'bill');
    const { stdout } = await offline('dead', 'list', '--handler', 'bill');
    expect(stdout).toMatch(/^FAILED AT +EVENT ID +TYPE +AGGREGATE +HANDLER +REASON\n/);
    expect(stdout).toMatch(new RegExp(`${id} +ThingHappened +thing/a +bill +no such host\n$`));
    const all = JSON.parse((await offline('dead', 'list', '--json')).stdout) as { handler: string }[];
    expect(all.map(({ handler }) => handler)).toEqual(['mail', 'bill']);
  });

  test('reemit hands them back to their handlers; a second one changes nothing and exits with 1 (C37)', async () => {
    const id = await dead('mail', 'bill');
    const one = await offline('reemit', id, '--handler', 'mail', '--json');
    expect({ code: one.code, result: JSON.parse(one.stdout) as object }).toEqual({
      code: 0,
      result: { revived: [id], refused: [], via: 'database' },
    });
    expect(await deliveryOf(outbox.db, id)).toMatchObject({ state: 'waiting', attempts: 0, reason: null, due: true });
    const again = await offline('reemit', id, '--handler', 'mail');
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/waiting: it is not a dead letter, mail will be tried again/);
    const unknown = await offline('reemit', randomUUID());
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringMatching(/unknown: no event/) as string });
    expect(await offline('reemit', '--all', '--handler', 'bill')).toMatchObject({
      code: 0,
      stdout: 'Revived 1 dead letter.\n',
    });
  });

  test('status and handlers count them', async () => {
    await dead('mail', 'bill');
    await insertDelivery(outbox.db, { state: 'waiting' });
    await insertDelivery(outbox.db, { handler: 'gone' });
    expect((await offline('status')).stdout).toMatch(/dead letters +1\n +handlers +1 waiting, 3 dead\n/);
    const { stdout } = await offline('handlers', '--json');
    expect(JSON.parse(stdout)).toEqual([
      { handler: 'bill', events: ['ThingHappened'], recorded: true, waiting: 0, dead: 1, skipped: 0 },
      { handler: 'gone', events: [], recorded: false, waiting: 0, dead: 1, skipped: 0 },
      { handler: 'mail', events: ['ThingHappened'], recorded: true, waiting: 1, dead: 1, skipped: 0 },
    ]);
    expect((await offline('handlers')).stdout).toMatch(
      /gone +0 +1 +0 +\(not recorded any more\)\nmail +1 +1 +0 +ThingHapp/,
    );
  });
});

describe('retry', () => {
  test('tells the run that is open to try now', async () => {
    const id = await insertDelivery(outbox.db, { state: 'waiting' });
    await startRun(id);
    expect(await cli('retry', id, '--handler', 'mail')).toMatchObject({
      code: 0,
      stdout: 'Told the delivery run to try mail now.\n',
    });
    expect(await signalsOf(id)).toEqual(['retryNow']);
  });

  test('starts a run with what stands in the database, when none is open', async () => {
    const id = await insertDelivery(outbox.db, { state: 'waiting', at: `clock_timestamp() + interval '1 hour'` });
    outbox.onClose(() => runOf(id).terminate('the test is over'));
    const { code, stdout } = await cli('retry', id, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ eventId: id, handlers: ['mail'], run: 'started' });
    expect(await signalsOf(id)).toEqual(['deliver']);
  });

  test('says what to do when nothing waits', async () => {
    const id = await dead('mail');
    expect(await cli('retry', id)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(`mail ran out. Hand it back with: outbox reemit ${id}`) as string,
    });
    expect((await cli('retry', randomUUID())).stderr).toMatch(/Nothing is known of the event/);
    const waiting = await insertDelivery(outbox.db, { state: 'waiting' });
    expect(await offline('retry', waiting)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Temporal cannot be reached/) as string,
    });
  });
});

describe('skip', () => {
  test('gives a handler up in the database, tells the run, and finishes the row', async () => {
    const id = await dead('mail');
    await startRun(id);
    const { code, stdout } = await cli('skip', id, '--handler', 'mail', '--reason', 'wrong address');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Skipped: mail will not run for the event ${id}.\n` });
    expect(await deliveryOf(outbox.db, id)).toMatchObject({ state: 'skipped', reason: 'wrong address' });
    expect(await ledgerOf(outbox.db, id)).toBe('done');
    expect(await outbox.rowsByStatus()).toEqual({ done: 1 });
    expect(await signalsOf(id)).toEqual(['retryNow']);
  });

  test('works without Temporal, and says so; a handler that nobody knows is refused', async () => {
    const id = await dead('mail');
    const unknown = await offline('skip', id, '--handler', 'male', '--reason', 'r');
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringMatching(/No handler male.*mail/) as string });
    const { code, stderr } = await offline('skip', id, '--handler', 'mail', '--reason', 'r');
    expect(code).toBe(0);
    expect(stderr).toMatch(/^The delivery run was not told, and finds out at its next attempt: Temporal cannot be/);
    expect(await offline('skip', id, '--handler', 'mail', '--reason', 'r')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Nothing to skip: mail is done/) as string,
    });
  });

  test('changes nothing while the handler is at work', async () => {
    const id = await insertDelivery(outbox.db, { state: 'waiting' });
    await insertLedger(outbox.db, id, 'mail', `clock_timestamp() + interval '1 minute'`);
    expect(await offline('skip', id, '--handler', 'mail', '--reason', 'r')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Not skipped: mail is at work/) as string,
    });
  });
});

describe('forget', () => {
  test('skips what waits for the handler, and says which dead letters stay', async () => {
    const [id = ''] = await enqueue(outbox.db, [event()]);
    await insertDelivery(outbox.db, { eventId: id, state: 'waiting' });
    await setStatus(outbox.db, id, 'retrying');
    await insertDelivery(outbox.db);
    const { code, stdout, stderr } = await offline('forget', 'mail', '--yes');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Forgot mail. Skipped 1 of its deliveries.\n' });
    expect(stderr).toMatch(/1 dead letter of it stay.*--handler mail/);
    expect(await outbox.rowsByStatus()).toEqual({ done: 1 });
    expect((await offline('forget', 'nosuch', '--yes')).code).toBe(1);
  });
});

describe('show', () => {
  test('shows row, place in the stream, handlers and run on one page, and never the body', async () => {
    const secret = { name: 'Mrs. Private' };
    const [other, id = ''] = await enqueue(outbox.db, [event(), event({ payload: secret, headers: { 'x-user': 'Mrs. X' } })]);
    expect(other).toBeDefined();
    expect((await cli('drain')).code).toBe(0);
    await insertLedger(outbox.db, id, 'bill', 'done');
    await insertDelivery(outbox.db, { eventId: id, state: 'waiting', at: `clock_timestamp() + interval '1 hour'` });
    await startRun(id);
    const { code, stdout, stderr } = await cli('show', id);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Event {2}${id}\n +status +done\n +type +ThingHappened, version 1\n`));
    expect(stdout).toMatch(new RegExp(`\nStream {2}${outbox.config().nats.stream}, sequence 2, stored 2`));
    expect(stdout).toMatch(/\nbill +done +2.*\nmail +waiting +3 +2.* \(in (59 min.*|1 h)\) +no such host\n/);
    expect(stdout).toMatch(/\nDelivery run {2}deliver\/.*\n +status +RUNNING\n/);
    expect(stdout).toMatch(/\n +page +temporal workflow show --workflow-id deliver\//);
    expect(stdout).toMatch(/\n +headers +x-user\n/);
    expect(stdout).not.toMatch(/Mrs\./);
    const linked = await runCli(['show', id], { ...outbox.settings, TEMPORAL_UI_URL: 'http://ui:8080/' });
    expect(linked.stdout).toMatch(/page +http:\/\/ui:8080\/namespaces\/default\/workflows\/deliver%2F/);
  }); // prettier-ignore

  test('--json is the same as an object; a handler that has not begun is named', async () => {
    const id = await dead('mail');
    const { code, stdout } = await cli('show', id, '--json');
    expect(code).toBe(0);
    const page = JSON.parse(stdout) as { database: { handlers: object[] } };
    expect(page).toMatchObject({
      eventId: id,
      database: { available: true, row: { status: 'dead_lettered', attempts: 3, reason: 'mail: no such host' } },
      run: { available: true, state: null },
      stream: { kind: 'not found', reason: 'it has not been published' },
    });
    expect(page.database.handlers).toMatchObject([
      { handler: 'bill', state: 'not begun' },
      { handler: 'mail', state: 'dead', attempts: 3, reason: 'no such host' },
    ]);
  });

  test('shows what answers when Temporal and NATS are away', async () => {
    const id = await dead('mail');
    await setStatus(outbox.db, id, 'done');
    const { code, stdout } = await offline('show', id);
    expect(code).toBe(0);
    expect(stdout).toMatch(/mail +dead +3[^]*Delivery run {2}unavailable: Temporal cannot be reached/);
    expect(stdout).toMatch(/Stream {2}NATS is away: NATS at \S+ cannot be used/);
    expect(stdout).not.toContain('S3CRET');
  });

  test('shows the run when PostgreSQL is away', async () => {
    const id = randomUUID();
    await startRun(id);
    const { code, stdout } = await runCli(['show', id], {
      TEMPORAL_ADDRESS: outbox.settings.TEMPORAL_ADDRESS ?? '',
      OUTBOX_SCHEMA: outbox.database.schema,
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/unavailable: PostgreSQL at [^]*Delivery run {2}deliver\/.*\n +status +RUNNING/);
  });

  test('an unknown id is named, with exit code 1', async () => {
    const id = randomUUID();
    const { code, stderr } = await cli('show', id);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `error: Nothing is known of the event ${id} in schema ${outbox.database.schema}.\n`,
    });
  });
});
