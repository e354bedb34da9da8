import { NativeConnection, Worker } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { createConsumerActivities } from '../../src/activities/consumer';
import { Membership } from '../../src/consumer/membership';
import { consumerTimingsOf } from '../../src/consumer/timings';
import { joinConsumer } from '../../src/temporal/consumerStart';
import { testEnvironment } from './environment';
import type { Settings, TestOutbox } from './outbox';
import { Receiver } from './receiver';

/** The consuming half of a worker: both queues, and the membership; handlers are those of its fake intake. */
export class ConsumerWorker {
  private constructor(
    readonly receiver: Receiver,
    readonly queue: string,
    readonly membership: Membership,
    /** As on SIGTERM. */
    readonly stop: () => Promise<void>,
    /** Neither polls the worker's own queue nor joins again, as a worker that is gone; the shared one is polled on. */
    readonly vanish: () => Promise<void>,
  ) {}

  static async start(outbox: TestOutbox, settings: Settings = {}): Promise<ConsumerWorker> {
    const receiver = await Receiver.open(outbox, settings);
    const { config, logger, source, intake, stopping } = receiver;
    const queue = `${config.taskQueue}/${randomUUID()}`;
    const join = () => joinConsumer(outbox.client, config, outbox.db, queue);
    const membership = new Membership({ join, timings: consumerTimingsOf(config), logger });
    const deps = { source, intake, config, membership, stopping: stopping.signal };
    const { receive, acknowledge } = createConsumerActivities(deps);

    const { TEMPORAL_ADDRESS: address = '' } = { ...outbox.settings, ...settings };
    const connection = await NativeConnection.connect({ address });
    outbox.onClose(() => connection.close());
    const grace = { shutdownGraceTime: 2_000, stickyQueueScheduleToStartTimeout: 500 };
    const shared = await Worker.create({
      connection,
      taskQueue: config.taskQueue,
      activities: { acknowledge },
      workflowBundle: { codePath: testEnvironment().workflowBundle },
      ...grace,
    });
    const own = await Worker.create({ connection, taskQueue: queue, activities: { receive }, ...grace });
    const runs = [shared.run(), own.run()];
    const shutDown = async (worker: Worker, run: Promise<void> | undefined) => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await run;
    };
    const stop = async () => {
      membership.leave();
      stopping.abort();
      await Promise.all([shutDown(own, runs[1]), shutDown(shared, runs[0])]);
    };
    outbox.onClose(stop);
    await membership.start();
    const vanish = () => {
      membership.leave();
      return shutDown(own, runs[1]);
    };
    return new ConsumerWorker(receiver, queue, membership, stop, vanish);
  }
}
