import { enqueue } from '../support/events';
import { eventually } from '../support/eventually';
import { mixed } from './eventsOf';
import { atRest, verify } from './outcome';
import { BOTH, type Backend } from './points/point';
import { SIDES, titleOf, visited, type Visit } from './visit';
import { CrashWorld, PATIENCE_MS, type Death, type Fault } from './world';

const VISITS: readonly Visit[] = [
  { point: 'sql record handlers', events: [] },
  { point: 'sql stamp handlers', events: [] },
  { point: 'sql prove listening', events: [] },
  { point: 'temporal StartWorkflowExecution relay', events: [] },
  { point: 'temporal CreateSchedule', events: [], arrange: withoutSchedule },
  { point: 'temporal UpdateSchedule', events: [], settings: { OUTBOX_MAINTENANCE_MS: '7200000' } },
];

const OF_STREAM: readonly Visit[] = [
  { point: 'nats STREAM.CREATE', events: [], arrange: withoutStream },
  { point: 'nats STREAM.UPDATE', events: [], settings: { OUTBOX_DUPLICATE_WINDOW_MS: '7200000' } },
  { point: 'nats CONSUMER.CREATE', by: 'a new one', events: [], arrange: withoutConsumer },
  { point: 'nats CONSUMER.CREATE', by: 'a changed one', events: [], settings: { OUTBOX_ACK_WAIT_MS: '3000' } },
  { point: 'nats advisories STREAM.CREATE', events: [], arrange: withoutAdvisories },
  { point: 'nats advisories STREAM.UPDATE', events: [], arrange: advisoriesOfAnother },
  { point: 'nats advisories CONSUMER.CREATE', events: [], arrange: withoutAdvisories },
  { point: 'temporal SignalWithStartWorkflowExecution consumer', events: [] },
];

const WHOLE_MS = 1_800_000;

/** Starts that follow one another in one world. */
class Starts {
  private readonly visits: readonly (readonly [string, Visit, Fault['when']])[];
  private readonly results = new Map<string, Promise<void>>();
  private readonly deaths: Death[] = [];
  private world: CrashWorld | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(readonly backend: Backend) {
    const visits = visited(backend, ['start'], backend === 'db' ? VISITS : [...OF_STREAM, ...VISITS]);
    this.visits = visits.flatMap((visit) => SIDES.map((side) => [titleOf(visit, side), visit, side] as const));
  }

  get titles(): string[] {
    return this.visits.map(([title]) => title);
  }

  begin(): void {
    const opened = CrashWorld.open({ EVENT_BUS_BACKEND: this.backend }).then((world) => (this.world = world));
    this.last = opened.catch(() => undefined);
    for (const [title, visit, side] of this.visits) this.then(title, (world) => this.kill(world, visit, side));
    this.then('end', (world) => this.end(world));
  }

  result(title: string): Promise<void> {
    return this.results.get(title) ?? Promise.reject(new Error(`there is no start ${title}`));
  }

  async close(): Promise<void> {
    await this.last;
    await this.world?.close();
  }

  private then(title: string, step: (world: CrashWorld) => Promise<void>): void {
    const result = this.last.then(() => {
      if (!this.world) throw new Error('the world could not be opened');
      return step(this.world);
    });
    this.last = result.catch(() => undefined);
    this.results.set(title, result);
  }

  private async kill(world: CrashWorld, { point, arrange, settings }: Visit, when: Fault['when']): Promise<void> {
    await arrange?.(world);
    const death = world.plan({ name: point, when });
    const worker = await world.worker(settings, false);
    const died = await Promise.race([death(), worker.exited.then(() => death())]);
    this.deaths.push(died);
    await eventually(() => worker.child.signalCode === 'SIGKILL', PATIENCE_MS, 'a worker that was killed');
    world.remove('plan.json');
  }

  private async end(world: CrashWorld): Promise<void> {
    const worker = await world.worker();
    const ids = await enqueue(world.db, mixed);
    await atRest(world, ids);
    await verify(world, { ids, deaths: this.deaths });
    const { maintenanceId, nats, retention } = world.outbox.config();
    const every = async () => (await world.outbox.client.schedule.getHandle(maintenanceId).describe()).spec.intervals;
    await eventually(async () => (await every())?.[0]?.every === retention.everyMs, PATIENCE_MS, 'its schedule');
    if (this.backend === 'nats') {
      const { config } = await world.outbox.manager.streams.info(nats.stream);
      const durable = await world.outbox.manager.consumers.info(nats.stream, nats.durable);
      expect(config.duplicate_window).toBe(nats.duplicateWindowMs * 1_000_000);
      expect(durable.config.ack_wait).toBe(nats.ackWaitMs * 1_000_000);
    }
    expect(await worker.kill('SIGTERM')).toBe(0);
  }
}

describe('a worker killed at any point of its start: the next one finds or makes what it needs', () => {
  const worlds = BOTH.map((backend) => new Starts(backend));
  beforeAll(() => worlds.forEach((world) => world.begin()));
  afterAll(() => Promise.all(worlds.map((world) => world.close())), WHOLE_MS);

  describe.each(worlds.map((world) => [world.backend, world] as const))('backend %s', (_, world) => {
    it.each(world.titles)('%s', (title) => world.result(title), WHOLE_MS);
    it('and then everything is handled, with the settings of the last', () => world.result('end'), WHOLE_MS);
  });
});

async function withoutSchedule({ outbox }: CrashWorld): Promise<void> {
  await outbox
    .maintenance()
    .delete()
    .catch(() => undefined);
}

async function withoutStream({ outbox }: CrashWorld): Promise<void> {
  await outbox.manager.streams.delete(outbox.config().nats.stream).catch(() => undefined);
}

async function withoutConsumer({ outbox }: CrashWorld): Promise<void> {
  const { stream, durable } = outbox.config().nats;
  await outbox.manager.consumers.delete(stream, durable).catch(() => undefined);
}

async function withoutAdvisories({ outbox }: CrashWorld): Promise<void> {
  await outbox.manager.streams.delete(`${outbox.config().nats.stream}_ADVISORIES`).catch(() => undefined);
}

/** Another schema's consumer has made it, for itself. */
async function advisoriesOfAnother(world: CrashWorld): Promise<void> {
  await withoutAdvisories(world);
  const { stream } = world.outbox.config().nats;
  await world.outbox.manager.streams.add({
    name: `${stream}_ADVISORIES`,
    subjects: [`$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${stream}.another`],
  });
}
