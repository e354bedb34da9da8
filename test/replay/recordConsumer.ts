import { defineHandler } from '../../src/handlers/defineHandler';
import type { ConsumerStatus } from '../../src/workflows/consumerMessages';
import { enqueue, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, countDone } from '../support/handled';
import { TestOutbox } from '../support/outbox';
import { OwnServers } from '../support/ownServers';
import { Proxy } from '../support/proxy';
import { ended, failing, gate, grown, NEUTRAL_PROCESS, runIdOf, type Recorder } from './recording';

const QUICK = { OUTBOX_BACKOFF_FIRST_MS: '200' };
const ofMany = (count: number) => events(count, (n) => ({ aggregateId: `a${n}` }));

/** A worker that receives nothing; then many events, some of which are handed over, caught between two receives. */
const idleAndBusy: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({ OUTBOX_LONG_POLL_MS: '1000' });
  await outbox.startWorker(QUICK, { handlers: [failing('mended', 3)] });
  await eventually(() => outbox.consumer().describe());
  await grown(outbox, outbox.consumer(), 18);
  await recording.save(outbox, 'consumer-idle', outbox.consumer());
  await enqueue(outbox.db, ofMany(2_000));
  await eventually(async () => (await countDone(outbox.db, 'mended')) >= 300);
  await recording.save(outbox, 'consumer-busy', outbox.consumer());
  await allHandled(outbox.db, 'mended', 2_000);
  await outbox.close();
};

/** Paused and resumed by signal and by update, with a worker that leaves and one that comes, and junk; cancelled at the end. */
const orders: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({ OUTBOX_LONG_POLL_MS: '1000' });
  const handlers = [failing('mended', 0)];
  const first = await outbox.startWorker(QUICK, { handlers });
  await enqueue(outbox.db, ofMany(20));
  await allHandled(outbox.db, 'mended', 20);
  const consumer = outbox.consumer();
  await consumer.signal('pause');
  await consumer.executeUpdate('pause');
  await enqueue(outbox.db, ofMany(20));
  await recording.save(outbox, 'consumer-paused', consumer);
  await consumer.executeUpdate('resume');
  await consumer.signal('resume');
  for (const junk of [null, 42, {}, { queue: 7 }]) await consumer.signal('join', junk);
  await consumer.signal('no such signal');
  await outbox.startWorker(QUICK, { handlers });
  await allHandled(outbox.db, 'mended', 40);
  await first.stop();
  await enqueue(outbox.db, ofMany(10));
  await allHandled(outbox.db, 'mended', 50);
  const run = { workflowId: consumer.workflowId, runId: await runIdOf(outbox, consumer.workflowId) };
  await consumer.cancel();
  await ended(outbox, run);
  await recording.save(outbox, 'consumer-orders', run);
  await outbox.close();
};

/** The broker goes away for several looks, and comes back. */
const outage: Recorder = async (recording) => {
  const own = new OwnServers();
  const nats = await own.nats();
  const outbox = await TestOutbox.create({ NATS_URL: nats.url, OUTBOX_LONG_POLL_MS: '1000' });
  await outbox.startWorker(QUICK, { handlers: [failing('mended', 0)] });
  await enqueue(outbox.db, ofMany(10));
  await allHandled(outbox.db, 'mended', 10);
  await nats.stop();
  await grown(outbox, outbox.consumer(), 20);
  await recording.save(outbox, 'consumer-outage', outbox.consumer());
  await nats.start();
  await outbox.consumer().signal('wake');
  await enqueue(outbox.db, ofMany(10));
  await allHandled(outbox.db, 'mended', 20);
  await recording.save(outbox, 'consumer-outage-over', outbox.consumer());
  await outbox.close();
  await own.close();
};

/** One of two workers is killed, asked once more, and forgotten; the other receives on, over a continue-as-new. */
const lostWorker: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({ OUTBOX_LONG_POLL_MS: '1000', OUTBOX_ROLL_OVER_EVENTS: '300' });
  await outbox.startWorker(QUICK, { handlers: [failing('mended', 0)] });
  const doomed = await outbox.spawnWorker(
    { ...QUICK, ...NEUTRAL_PROCESS },
    { handlers: require.resolve('../support/dyingHandler.mjs') },
  );
  const { workflowId } = outbox.consumer();
  const runId = await runIdOf(outbox, workflowId);
  await eventually(async () => (await outbox.consumer().query<{ workers: unknown[] }>('status')).workers.length === 2);
  await doomed.kill('SIGKILL');
  await eventually(async () => (await runIdOf(outbox, workflowId)) !== runId, 60_000);
  await enqueue(outbox.db, ofMany(10));
  await allHandled(outbox.db, 'mended', 10);
  await recording.save(outbox, 'consumer-lost-worker', { workflowId, runId });
  await recording.save(outbox, 'consumer-continued', { workflowId });
  await outbox.close();
};

/** A worker loses its broker while it handles; what it could not acknowledge then, another does. */
const acknowledgedElsewhere: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({ OUTBOX_LONG_POLL_MS: '1000' });
  const natsUrl = outbox.config().nats.url;
  const proxy = await Proxy.to(natsUrl);
  outbox.onClose(() => proxy.close());
  const end = gate();
  let entered = 0;
  const run = async () => {
    entered++;
    await end.opened;
  };
  const handlers = [defineHandler({ name: 'gated', events: ['ThingHappened'], run })];
  const settings = { OUTBOX_BACKOFF_FIRST_MS: '1000', OUTBOX_BACKOFF_MAX_MS: '1000' };
  await outbox.startWorker({ ...settings, NATS_URL: proxy.url(natsUrl) }, { handlers });
  await enqueue(outbox.db, ofMany(3));
  await eventually(() => entered === 3);
  proxy.takeAway();
  const consumer = outbox.consumer();
  const status = () => consumer.query<ConsumerStatus>('status');
  await eventually(async () => (await status()).state === 'waiting for the broker');
  end.open();
  await allHandled(outbox.db, 'gated', 3);
  await outbox.startWorker(settings, { handlers });
  await eventually(async () => (await status()).totals.acknowledgedElsewhere === 3);
  await recording.save(outbox, 'consumer-acknowledged', consumer);
  await outbox.close();
};

export const consumerRecorders: readonly Recorder[] = [idleAndBusy, orders, outage, lostWorker, acknowledgedElsewhere];
