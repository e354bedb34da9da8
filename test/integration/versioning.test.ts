import { temporal } from '@temporalio/proto';
import { setTimeout as sleep } from 'node:timers/promises';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { readVersions } from '../../src/doctor/versions';
import { judgeVersions } from '../../src/doctor/versionsJudgement';
import { defineHandler } from '../../src/handlers/defineHandler';
import { deliveryRows } from '../support/handled';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled } from '../support/handled';
import { TestOutbox } from '../support/outbox';

const { VERSIONING_BEHAVIOR_PINNED, VERSIONING_BEHAVIOR_AUTO_UPGRADE, VERSIONING_BEHAVIOR_UNSPECIFIED } =
  temporal.api.enums.v1.VersioningBehavior;

/** Hours between two attempts: only an operator's word brings the next one. */
const PATIENT = { OUTBOX_BACKOFF_FIRST_MS: '3600000', OUTBOX_BACKOFF_MAX_MS: '3600000' };

describe('worker versioning', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create();
  });
  afterEach(() => outbox.close());

  it('moves relay and consumer to the current build at a continue-as-new, under traffic, and loses no event', async () => {
    const entered: string[] = [];
    const handlers = (build: string) => [
      defineHandler({ name: 'seen', events: ['ThingHappened'], run: ({ eventId }) => void entered.push(eventId) }),
      defineHandler({
        name: 'mended',
        events: ['ThingBroke'],
        run: () => {
          if (build === 'build-a') throw new Error('not in this build');
        },
      }),
    ];
    const start = (build: string) =>
      outbox.startWorker({ OUTBOX_BUILD_ID: build, ...PATIENT }, { handlers: handlers(build) });
    const a = await start('build-a');
    expect(a.logs.map(({ msg }) => msg)).toContainEqual(
      expect.stringContaining(
        `temporal worker deployment set-current-version --namespace default --deployment-name outbox-${outbox.db.schema} --build-id build-a`,
      ),
    );
    const [broken = ''] = await enqueue(outbox.db, [event({ type: 'ThingBroke' })]);
    await setCurrent('build-a');
    await eventually(async () => (await deliveryRows(outbox.db)).length === 1);
    const delivery = deliveryWorkflowId(outbox.db.schema, broken);
    expect(await versionOf(relayId())).toEqual(['build-a', VERSIONING_BEHAVIOR_PINNED]);
    expect(await versionOf(consumerId())).toEqual(['build-a', VERSIONING_BEHAVIOR_PINNED]);
    await eventually(
      async () => expect(await versionOf(delivery)).toEqual(['build-a', VERSIONING_BEHAVIOR_AUTO_UPGRADE]) ?? true,
    );
    const { totals: before } = await outbox.status();

    await start('build-b');
    const ids = await enqueue(outbox.db, events(100));
    let writing = true;
    outbox.onClose(() => {
      writing = false;
      return traffic;
    });
    const traffic = (async () => {
      while (writing) {
        ids.push(...(await enqueue(outbox.db, events(5))));
        await sleep(100);
      }
    })();
    await eventually(() => entered.length >= 100, 120_000, 'events handled before the move');
    expect(await versionOf(relayId())).toEqual(['build-a', VERSIONING_BEHAVIOR_PINNED]);
    await setCurrent('build-b');
    await eventually(async () => (await versionOf(relayId()))[0] === 'build-b', 120_000, 'the relay on build b');
    await eventually(async () => (await versionOf(consumerId()))[0] === 'build-b', 120_000, 'the consumer on build b');
    await a.stop();
    writing = false;
    await traffic;
    ids.push(...(await enqueue(outbox.db, events(20))));
    await outbox.allDone(120_000);
    await allHandled(outbox.db, 'seen', ids.length, 120_000);

    expect(await versionOf(relayId())).toEqual(['build-b', VERSIONING_BEHAVIOR_PINNED]);
    expect(new Set(entered).size).toBe(ids.length);
    expect(new Map(ids.map((id) => [id, 1]))).toEqual(
      new Map([...(await outbox.streamCounts())].filter(([id]) => id !== broken)),
    );
    const { totals } = await outbox.status();
    expect(totals.continuedAsNew).toBe(before.continuedAsNew + 1);

    // What waits for its next attempt is tried by the build that mends it.
    await outbox.client.workflow.getHandle(delivery).signal('retryNow');
    await allHandled(outbox.db, 'mended', 1);
    await eventually(
      async () => expect(await versionOf(delivery)).toEqual(['build-b', VERSIONING_BEHAVIOR_AUTO_UPGRADE]) ?? true,
    );
  }, 600_000);

  it('is judged by doctor: a step that was forgotten, and a run whose build is gone, with what to do', async () => {
    const look = async (buildId: string) => {
      const config = outbox.config({ OUTBOX_BUILD_ID: buildId });
      const { client } = outbox;
      const temporal = () =>
        Promise.resolve({ client, namespace: 'default', address: '', close: () => Promise.resolve() });
      // Shortened: by default it takes minutes until a build that polls no more is called gone; here, who polled last is there.
      return judgeVersions(await readVersions({ config, temporal }, 0));
    };
    const about = (found: Awaited<ReturnType<typeof look>>) => found.map(({ level, todo }) => `${level}: ${todo}`);
    const set = (build: string) =>
      `temporal worker deployment set-current-version --namespace default --deployment-name outbox-${outbox.db.schema} --build-id ${build}`;

    const a = await outbox.startWorker({ OUTBOX_BUILD_ID: 'build-a' });
    expect(about(await look('build-a'))).toEqual([`fault: Run: ${set('build-a')}`]);
    await setCurrent('build-a');
    await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    expect(await look('build-a')).toMatchObject([{ level: 'ok' }]);
    await a.stop();

    await outbox.startWorker({ OUTBOX_BUILD_ID: 'build-b' });
    const gone = await eventually(async () => {
      const found = about(await look('build-b'));
      return found.length === 2 ? found : Promise.reject(new Error(JSON.stringify(found)));
    });
    expect(gone).toEqual([
      `fault: Start workers with OUTBOX_BUILD_ID=build-a, or make build build-b the current one: ${set('build-b')}`,
      expect.stringMatching(
        `^fault: Start a worker with OUTBOX_BUILD_ID=build-a, or .* update-options .*--workflow-id ${relayId()} --versioning-override-behavior auto_upgrade$`,
      ) as string,
    ]);

    // As the two say, and events go on.
    await setCurrent('build-b');
    await outbox.client.workflowService.updateWorkflowExecutionOptions({
      namespace: 'default',
      workflowExecution: { workflowId: relayId() },
      updateMask: { paths: ['versioning_override'] },
      workflowExecutionOptions: { versioningOverride: { autoUpgrade: true } },
    });
    await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    expect(await look('build-b')).toMatchObject([{ level: 'ok' }]);
  }, 180_000);

  it('is off without a build id: relay and consumer are pinned to nothing', async () => {
    const handler = defineHandler({ name: 'seen', events: ['ThingHappened'], run: () => undefined });
    const worker = await outbox.startWorker({}, { handlers: [handler] });
    await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'seen', 1);
    expect(await versionOf(relayId())).toEqual([undefined, VERSIONING_BEHAVIOR_UNSPECIFIED]);
    expect(await versionOf(consumerId())).toEqual([undefined, VERSIONING_BEHAVIOR_UNSPECIFIED]);
    expect(JSON.stringify(worker.logs)).not.toContain('set-current-version');
  });

  it('leaves a relay alone that an operator has pinned to a build', async () => {
    const a = await outbox.startWorker({ OUTBOX_BUILD_ID: 'build-a' });
    await setCurrent('build-a');
    await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    await outbox.client.workflowService.updateWorkflowExecutionOptions({
      namespace: 'default',
      workflowExecution: { workflowId: relayId() },
      updateMask: { paths: ['versioning_override'] },
      workflowExecutionOptions: {
        versioningOverride: {
          pinned: {
            behavior:
              temporal.api.workflow.v1.VersioningOverride.PinnedOverrideBehavior.PINNED_OVERRIDE_BEHAVIOR_PINNED,
            version: { deploymentName: outbox.config().worker.deploymentName, buildId: 'build-a' },
          },
        },
      },
    });
    await outbox.startWorker({ OUTBOX_BUILD_ID: 'build-b' });
    await setCurrent('build-b');
    for (let n = 0; n < 20; n++) {
      await enqueue(outbox.db, [event()]);
      await outbox.allDone();
    }
    expect((await outbox.status()).totals).toMatchObject({ published: 21, continuedAsNew: 0 });
    expect(a.logs.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  const relayId = () => outbox.relay().workflowId;
  const consumerId = () => outbox.consumer().workflowId;

  /** As `temporal worker deployment set-current-version`, which refuses a build that polls none of the queues yet. */
  async function setCurrent(buildId: string): Promise<void> {
    const deploymentName = outbox.config().worker.deploymentName;
    await eventually(
      () =>
        outbox.client.workflowService.setWorkerDeploymentCurrentVersion({
          namespace: 'default',
          deploymentName,
          buildId,
          identity: 'test',
        }),
      60_000,
      `${buildId} as the current version`,
    );
  }

  async function versionOf(workflowId: string) {
    const { raw } = await outbox.client.workflow.getHandle(workflowId).describe();
    const { deploymentVersion, behavior } = raw.workflowExecutionInfo?.versioningInfo ?? {};
    return [deploymentVersion?.buildId ?? undefined, behavior ?? VERSIONING_BEHAVIOR_UNSPECIFIED];
  }
});
