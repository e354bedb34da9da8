import { loadConfig } from '../../src/config';
import { scheduleMaintenance } from '../../src/temporal/maintenanceSchedule';
import { createLogger } from '../../src/logger';
import { insertDoneLedger, insertRow } from '../support/aged';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import '../support/printedRoles';

let outbox: TestOutbox;
beforeEach(async () => {
  outbox = await TestOutbox.create();
});
afterEach(() => outbox.close());

const remaining = async () => {
  const { rows } = await outbox.db.query<{ ledger: number; done: number }>(
    `SELECT (SELECT count(*)::integer FROM :schema.processed_events) AS ledger,
            (SELECT count(*)::integer FROM :schema.event_queue) AS done`,
  );
  return rows[0];
};

/** The runs of the clean-up, oldest first; those of an earlier moment of the test are among them. */
async function runs(): Promise<{ workflowId: string; status: string }[]> {
  const found: { workflowId: string; status: string; at: Date }[] = [];
  const query = `WorkflowType = 'maintenance' AND WorkflowId STARTS_WITH '${outbox.config().maintenanceId}-'`;
  for await (const { workflowId, status, startTime } of outbox.client.workflow.list({ query }))
    found.push({ workflowId, status: status.name, at: startTime });
  return found.sort((a, b) => a.at.getTime() - b.at.getTime());
}

const pageOf = async (workflowId: string) =>
  JSON.stringify(await outbox.client.workflow.getHandle(workflowId).query<string>('__temporal_workflow_metadata'));

it('a worker without handlers removes what is old as soon as it is started, and the page of the run says what', async () => {
  await insertDoneLedger(outbox.db, 1_500, '31 days');
  await insertRow(outbox.db, 'done', { age: '8 days' });
  const { logs } = await outbox.startWorker();
  await eventually(async () => {
    const left = await remaining();
    return left?.ledger === 0 && left.done === 0;
  });
  const run = await eventually(async () => (await runs()).find(({ status }) => status === 'COMPLETED'));
  expect(await outbox.client.workflow.getHandle(run.workflowId).result()).toEqual({ ledger: 1_500, done: 1, skipped: 0, dead: 0 }); // prettier-ignore
  const page = await pageOf(run.workflowId);
  expect(page).toContain('| handlings that are done | **done**: 1500 rows, older than 30 d, in ');
  expect(page).toContain('| events that are done | **done**: 1 rows, older than 7 d, in ');
  expect(page).toContain('| dead letters | kept for ever |');
  expect(page).toContain('No error.');
  expect(logs).toContainEqual(
    expect.objectContaining({ level: 30, kind: 'ledger', rows: 1_500, msg: 'Removed rows past their retention' }),
  );
});

it('a run that fails is shown as failed with its reason, warned of, stops nothing else, and the next one tries again (C49)', async () => {
  await insertDoneLedger(outbox.db, 10, '31 days');
  await insertRow(outbox.db, 'done', { age: '8 days' });
  let full = true;
  const archive = ({ table }: { table: string }) => {
    if (full && table === 'processed_events') throw new Error('the bucket is full');
  };
  const { logs } = await outbox.startWorker({ OUTBOX_MAINTENANCE_MS: '1000' }, { archive });
  const failed = await eventually(async () => (await runs()).find(({ status }) => status === 'FAILED'), 120_000);
  const reason =
    /not everything could be removed: ledger: The archive did not take 10 rows of processed_events, which stay: the bucket is full/;
  const error = await outbox.client.workflow.getHandle(failed.workflowId).result().catch((thrown: Error) => thrown); // prettier-ignore
  expect((error as Error & { cause: Error }).cause.message).toMatch(reason);
  const page = await pageOf(failed.workflowId);
  expect(page).toContain('**failed**');
  expect(page).toContain('**Last error** (handlings that are done): The archive did not take 10 rows');
  expect(await remaining()).toEqual({ ledger: 10, done: 0 });
  const warnings = logs.filter(({ level }) => Number(level) >= 40).map(({ msg }) => String(msg));
  expect(warnings).toContainEqual(
    expect.stringMatching(/could not be removed, and it is tried again: .*the bucket is full/),
  );

  full = false;
  await eventually(async () => (await remaining())?.ledger === 0, 120_000);
});

it('its schedule is made once, keeps what an operator paused, and follows the settings', async () => {
  const logger = createLogger('silent');
  const ensure = (settings: Record<string, string> = {}) =>
    scheduleMaintenance(outbox.client, loadConfig({ ...outbox.settings, ...settings }), logger);
  const stamp = async () => (await outbox.maintenance().describe()).info.lastUpdatedAt?.getTime();
  await Promise.all([ensure(), ensure(), ensure()]);
  const first = await outbox.maintenance().describe();
  expect(first.policies.overlap).toBe('SKIP');
  expect(first.spec.intervals).toMatchObject([{ every: 3_600_000 }]);
  await outbox.maintenance().pause('a restore is under way');
  const paused = await stamp();
  await ensure();
  expect(await stamp()).toBe(paused);
  await ensure({ OUTBOX_MAINTENANCE_MS: '60000' });
  const changed = await outbox.maintenance().describe();
  expect(changed.spec.intervals).toMatchObject([{ every: 60_000 }]);
  expect(changed.state).toMatchObject({ paused: true, note: 'a restore is under way' });
});

it('a worker whose server refuses schedules says so once and goes on', async () => {
  const lines: unknown[] = [];
  const refusing = {
    schedule: { create: () => Promise.reject(new Error('Failed to create schedule', { cause: new Error('12 UNIMPLEMENTED') })) },
  } as unknown as typeof outbox.client; // prettier-ignore
  const logger = { warn: (line: string) => lines.push(line) } as unknown as ReturnType<typeof createLogger>;
  await scheduleMaintenance(refusing, outbox.config(), logger);
  expect(lines).toEqual([expect.stringMatching(/Failed to create schedule: 12 UNIMPLEMENTED.*outbox prune/)]);
});
