import { insertDoneLedger, insertRow } from '../support/aged';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { Proxy } from '../support/proxy';
import { ended, gate, type Recorder, type Run } from './recording';

/** The newest clean-up that came to this state. */
function runThat(outbox: TestOutbox, status: string): Promise<Run> {
  const query = `WorkflowType = 'maintenance' AND WorkflowId STARTS_WITH '${outbox.config().maintenanceId}-'`;
  return eventually(async () => {
    for await (const run of outbox.client.workflow.list({ query })) if (run.status.name === status) return run;
    return undefined;
  }, 120_000);
}

/** Nothing is past its age. */
const idle: Recorder = async (recording) => {
  const outbox = await TestOutbox.create();
  await outbox.startWorker();
  await recording.save(outbox, 'maintenance-idle', await runThat(outbox, 'COMPLETED'));
  await outbox.close();
};

/** Caught while it removes; its worker is stopped then, and another goes on with the rest. */
const continued: Recorder = async (recording) => {
  const outbox = await TestOutbox.create();
  await insertDoneLedger(outbox.db, 12_000, '31 days');
  await insertRow(outbox.db, 'done', { age: '8 days' });
  const [entered, end] = [gate(), gate()];
  const archive = async () => {
    entered.open();
    await end.opened;
  };
  const first = await outbox.startWorker({}, { archive });
  await entered.opened;
  await recording.save(outbox, 'maintenance-busy', await runThat(outbox, 'RUNNING'));
  const stopped = first.stop();
  end.open();
  await stopped;
  await outbox.startWorker({}, { archive });
  await recording.save(outbox, 'maintenance-parts', await runThat(outbox, 'COMPLETED'));
  await outbox.close();
};

/** One kind cannot be removed, the others can. */
const failed: Recorder = async (recording) => {
  const outbox = await TestOutbox.create();
  await insertDoneLedger(outbox.db, 10, '31 days');
  await insertRow(outbox.db, 'done', { age: '8 days' });
  const archive = ({ table }: { table: string }) => {
    if (table === 'processed_events') throw new Error('the bucket is full');
  };
  await outbox.startWorker({}, { archive });
  await recording.save(outbox, 'maintenance-failed', await runThat(outbox, 'FAILED'));
  await outbox.close();
};

/** PostgreSQL goes away while rows are put away, for longer than the tries at the first kind take, and comes back. */
const outage: Recorder = async (recording) => {
  const outbox = await TestOutbox.create();
  const { url } = outbox.database;
  const proxy = await Proxy.to(url);
  outbox.onClose(() => proxy.close());
  await insertDoneLedger(outbox.db, 10, '31 days');
  await insertRow(outbox.db, 'done', { age: '8 days' });
  const archive = ({ table }: { table: string }) => {
    if (table === 'processed_events') proxy.takeAway();
  };
  await outbox.startWorker({ DATABASE_URL: proxy.url(url) }, { archive });
  const { workflowId } = await runThat(outbox, 'RUNNING');
  const run = outbox.client.workflow.getHandle(workflowId);
  // The tries at one kind are over, and those at the next have begun.
  await eventually(async () => {
    const { events } = await run.fetchHistory();
    const failed = events?.some((event) => event.activityTaskFailedEventAttributes) ?? false;
    return failed && (await run.describe()).raw.pendingActivities?.some(({ attempt }) => (attempt ?? 0) > 1);
  }, 120_000);
  await recording.save(outbox, 'maintenance-outage', run);
  proxy.giveBack();
  await ended(outbox, run);
  await recording.save(outbox, 'maintenance-outage-over', run);
  await outbox.close();
};

export const maintenanceRecorders: readonly Recorder[] = [idle, continued, failed, outage];
