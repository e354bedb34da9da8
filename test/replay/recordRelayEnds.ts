import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows } from '../support/handled';
import { TestOutbox, type WorkerProcess } from '../support/outbox';
import { failing, NEUTRAL_PROCESS, type Recorder } from './recording';

/** The attempt of `claim` that is at work, by the worker that has it. */
async function claimant(outbox: TestOutbox): Promise<string | undefined> {
  const { raw } = await outbox.relay().describe();
  const claim = raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'claim');
  return claim?.lastStartedTime ? (claim.lastWorkerIdentity ?? undefined) : undefined;
}

async function fences(outbox: TestOutbox): Promise<number> {
  const { events: history } = await outbox.relay().fetchHistory();
  const named = (history ?? []).map((it) => it.activityTaskScheduledEventAttributes?.activityType?.name);
  return named.filter((name) => name === 'fence').length;
}

/**
 * The worker whose claim is open stands still while the claim is ended, by a wake and then by a pause: another fences it,
 * and in the first case waits for a while.
 */
export const fenced: Recorder = async (recording) => {
  // The worker says that it lives in four fifths of this time. Within the last fifth the end of its claim must be asked
  // for, or the claim is tried again elsewhere, and no fence is needed.
  const outbox = await TestOutbox.create({ OUTBOX_HEARTBEAT_TIMEOUT_MS: '30000', OUTBOX_LONG_POLL_MS: '600000' });
  const frozen = await outbox.spawnWorker(NEUTRAL_PROCESS);
  await enqueue(outbox.db, events(10));
  await outbox.allDone();
  const first = await outbox.startWorker();
  await frozenWithClaim(outbox, frozen);
  await outbox.relay().signal('wake');
  await eventually(async () => (await fences(outbox)) === 1, 90_000, 'a fence after a wake');
  await enqueue(outbox.db, events(10));
  await outbox.allDone();
  frozen.child.kill('SIGCONT');
  await first.stop();
  await enqueue(outbox.db, events(10));
  await outbox.allDone();
  await outbox.startWorker();
  await frozenWithClaim(outbox, frozen);
  await outbox.relay().executeUpdate('pause');
  await eventually(async () => (await fences(outbox)) === 2, 90_000, 'a fence for a pause');
  await outbox.relay().executeUpdate('resume');
  await enqueue(outbox.db, events(10));
  await outbox.allDone();
  await recording.save(outbox, 'relay-fenced', outbox.relay());
  await outbox.close();
};

async function frozenWithClaim(outbox: TestOutbox, { child }: WorkerProcess): Promise<void> {
  const whose = `${child.pid}@recorder`;
  await eventually(async () => (await claimant(outbox))?.startsWith(whose), undefined, `a claim of ${whose}`);
  child.kill('SIGSTOP');
}

/** Dead letters handed back by signal and by update, each with a filter: one handler's, a tenant's, a type's of late. */
export const reemitted: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({
    EVENT_BUS_BACKEND: 'db',
    EVENT_QUEUE_MAX_ATTEMPTS: '1',
    OUTBOX_LONG_POLL_MS: '1000',
  });
  const companyId = '0190a5b0-0000-7000-8000-000000000001';
  const handler = 'hopeless';
  await outbox.startWorker({}, { handlers: [failing(handler, 4)] });
  const given = [event({ aggregateId: 'a' }), event({ aggregateId: 'b' }), event({ aggregateId: 'c', companyId })];
  const [first = '', second = ''] = await enqueue(outbox.db, [...given, event({ aggregateId: 'd' })]);
  await eventually(async () => (await deliveryRows(outbox.db)).filter(({ state }) => state === 'dead').length === 4);
  const relay = outbox.relay();
  await relay.signal('reemit', { ids: [first], handler });
  await allHandled(outbox.db, handler, 1);
  await relay.executeUpdate('reemit', { args: [{ ids: [second], handler }] });
  await allHandled(outbox.db, handler, 2);
  await relay.signal('reemitAll', { companyId });
  await allHandled(outbox.db, handler, 3);
  await relay.executeUpdate('reemitAll', { args: [{ handler: 'nobody' }] });
  await relay.signal('reemitAll', { eventType: 'ThingHappened', handler, since: '2020-01-01T00:00:00Z' });
  await allHandled(outbox.db, handler, 4);
  await recording.save(outbox, 'relay-reemitted', relay);
  await outbox.close();
};
