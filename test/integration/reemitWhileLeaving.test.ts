import { NativeConnection, Worker } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import type { RelayActivities } from '../../src/activities/relay';
import { NOTHING_SETTLED, type RelayTimings } from '../../src/relay/outcome';
import { timingsOf } from '../../src/relay/timings';
import type { ReemitAllResult } from '../../src/workflows/messages';
import { testEnvironment } from '../support/environment';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { keepingStacks } from '../support/workflowThreads';

const NOTHING_PUBLISHED = { published: 0, duplicates: 0, exceptions: [], recovered: [], away: null };

function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

/** The relay's steps as the test wants them: its first batch stays open, and claims find nothing. */
class Steps {
  /** Ids that were to be re-emitted, in the order in which they came. */
  readonly reemitted: string[] = [];
  reemitsAll = false;
  readonly batch = gate();
  readonly reemitAll = gate();
  readonly polls = gate();
  /** Claims wait for `polls` from now on. Before, they end at once, so that a roll-over is soon due. */
  polling = false;
  private claims = 0;

  constructor(
    private readonly queue: string,
    private readonly timings: RelayTimings,
  ) {}

  readonly activities: RelayActivities = {
    claim: async () => {
      const { queue, timings } = this;
      if (this.claims++ === 0) return { kind: 'batch', token: '1', queue, rows: 1, lagMs: 0, timings };
      if (this.polling) await this.polls.opened;
      return { kind: 'idle', timings };
    },
    publish: async () => {
      await this.batch.opened;
      return NOTHING_PUBLISHED;
    },
    mark: () => Promise.resolve(NOTHING_SETTLED),
    fence: () => Promise.resolve(),
    reemit: ({ ids }) => {
      this.reemitted.push(...ids);
      return Promise.resolve({ revived: [], refused: [] });
    },
    reemitAll: async () => {
      this.reemitsAll = true;
      await this.reemitAll.opened;
      return { revived: 7 };
    },
  };

  openAll(): void {
    for (const each of [this.batch, this.reemitAll, this.polls]) each.open();
  }
}

/*
 * In the backend `db` a batch is open for as long as a handler takes. What is asked for in that time keeps the run from
 * its end, which goes on claiming; the re-emits that came by signal were once left to the next run by then, for good.
 */
describe('a re-emit that is asked for when a roll-over waits for an open batch', () => {
  let outbox: TestOutbox;
  let steps: Steps;

  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db' });
    const { taskQueue, relayWorkflowId: workflowId } = outbox.config();
    const timings = { ...timingsOf(outbox.config(), 60_000), heartbeatTimeoutMs: 120_000, rollOverEvents: 50 };
    steps = new Steps(taskQueue, timings);
    const connection = await NativeConnection.connect({ address: outbox.settings.TEMPORAL_ADDRESS ?? '' });
    outbox.onClose(() => connection.close());
    const worker = await keepingStacks(() =>
      Worker.create({
        ...{ connection, taskQueue, shutdownGraceTime: 1_000, stickyQueueScheduleToStartTimeout: 500 },
        ...{ activities: steps.activities, workflowBundle: { codePath: testEnvironment().workflowBundle } },
      }),
    );
    const running = worker.run();
    outbox.onClose(async () => {
      steps.openAll();
      worker.shutdown();
      await running;
    });
    await outbox.client.workflow.start('relay', { workflowId, taskQueue, args: [{ timings }] });
    await eventually(async () => (await outbox.status()).state === 'continuing as new');
    steps.polling = true;
  });
  afterEach(() => outbox.close());

  const rollsOver = () => eventually(async () => (await outbox.status()).totals.continuedAsNew >= 1);

  it('by update does not keep those by signal waiting, and the roll-over comes after them', async () => {
    const answer = outbox.relay().executeUpdate<ReemitAllResult, []>('reemitAll', { args: [] });
    await eventually(() => steps.reemitsAll);
    for (const id of [randomUUID(), randomUUID()]) {
      await outbox.relay().signal('reemit', { ids: [id] });
      await eventually(() => steps.reemitted.includes(id), 20_000, 'a re-emit beside the update');
    }
    expect((await outbox.status()).totals.continuedAsNew).toBe(0);
    steps.reemitAll.open();
    expect(await answer).toEqual({ revived: 7 });
    steps.openAll();
    await rollsOver();
  });

  it('by signal is begun when it is more than the next run could be given, and that run ends it', async () => {
    const ids = Array.from({ length: 10_001 }, () => randomUUID());
    await outbox.relay().signal('reemit', { ids });
    await eventually(() => steps.reemitted.length > 0, 20_000, 'the first of them');
    steps.openAll();
    await eventually(() => steps.reemitted.length === ids.length);
    expect(steps.reemitted).toEqual(ids);
    await rollsOver();
  });
});
