import { enqueue } from '../support/events';
import { eventually } from '../support/eventually';
import type { Settings, WorkerProcess } from '../support/outbox';
import { handedOver, toStop } from './atWork';
import { atRest, verify } from './outcome';
import type { Backend, Path } from './points/point';
import { SIDES, titleOf, visited, type Visit } from './visit';
import { CrashWorld, PATIENCE_MS, type Death, type Fault } from './world';

/** Two at a time in a file: sixteen that start at once would take longer than a start may. */
const starting: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];

/**
 * One world with two workers, in which visit after visit kills whichever comes to the point first, before it and then after
 * it: the other takes over, and a new one is begun. So each kill meets a worker that lives, and a start costs no time of
 * its own. What both sides left behind is waited for together, as most of the time goes into the leases of the dead.
 */
export class Arena {
  /** Those that live, or will soon. */
  private workers: Promise<WorkerProcess>[] = [];
  private readonly deaths: Death[] = [];
  private readonly results = new Map<string, Promise<void>>();
  private world: CrashWorld | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private closed: Promise<void> = Promise.resolve();

  constructor(
    private readonly settings: Settings,
    private readonly visits: readonly Visit[],
  ) {}

  start(): void {
    this.last = this.open();
    for (const visit of this.visits) {
      const result = this.last.then(() => this.run(visit));
      result.catch(() => undefined);
      for (const side of visit.sides ?? SIDES) this.results.set(titleOf(visit, side), result);
      this.last = result.catch(() => undefined);
    }
    this.closed = this.last.then(() => this.clear());
  }

  /** Resolves when both sides of the visit have been found right. */
  result(title: string): Promise<void> {
    return this.results.get(title) ?? Promise.reject(new Error(`there is no visit ${title}`));
  }

  /** Resolves when the visits are over and all that they needed is gone, which it is as soon as they are. */
  close(): Promise<void> {
    return this.closed;
  }

  private async clear(): Promise<void> {
    await Promise.allSettled(this.workers);
    await this.world?.close();
  }

  private async open(): Promise<void> {
    this.world = await CrashWorld.open(this.settings);
    this.fill(this.world);
    await Promise.all(this.workers);
  }

  /** Two that are ready. One that could not start, or was told to stop, concerned the visit before and no other. */
  private async both(world: CrashWorld): Promise<WorkerProcess[]> {
    const begun = await Promise.allSettled(this.workers);
    this.workers = this.workers.filter((_, index) => {
      const worker = begun[index];
      return worker?.status === 'fulfilled' && isRunning(worker.value);
    });
    this.fill(world);
    return Promise.all(this.workers);
  }

  /** Sees to it that there are two workers. */
  private fill(world: CrashWorld): void {
    while (this.workers.length < 2) {
      const worker = (starting.shift() ?? Promise.resolve()).then(() => world.worker());
      starting.push(worker.catch(() => undefined));
      this.workers.push(worker);
    }
  }

  private async run(visit: Visit): Promise<void> {
    const world = this.world;
    if (!world) throw new Error('the world could not be opened');
    const ids: string[] = [];
    try {
      for (const side of visit.sides ?? SIDES) {
        try {
          ids.push(...(await this.kill(world, visit, side)));
        } finally {
          // Nobody is to die by it later.
          world.remove('plan.json');
        }
      }
      await visit.heal?.(world, ids);
      const { unentered = false, skipped = false } = visit;
      const expected = { ids, deaths: this.deaths, entered: !unentered, skipped };
      await atRest(world, ids, { skipped });
      await verify(world, expected);
      for (const worker of await Promise.all(this.workers)) alive(worker);
    } catch (error) {
      const workers = (await Promise.allSettled(this.workers)).flatMap((one) => ('value' in one ? [one.value] : []));
      const said = workers.flatMap(({ logs }) => logs.slice(-8));
      throw new Error(`${(error as Error).message}\n${said.join('\n')}`, { cause: error });
    }
  }

  /** @returns the events of this side */
  private async kill(world: CrashWorld, visit: Visit, when: Fault['when']): Promise<string[]> {
    const { point: name, gate, match, nth, stops } = visit;
    const fault = { name, when, ...(match !== undefined && { match }), ...(nth !== undefined && { nth }) };
    const workers = await this.both(world);
    if (gate !== undefined) world.remove(gate);
    await visit.arrange?.(world);
    const early = gate === undefined ? world.plan(fault) : undefined;
    const ids = await enqueue(world.db, visit.events);
    if (gate !== undefined) await handedOver(world, ids);
    const death = early ?? world.plan(fault);
    if (gate !== undefined) world.write(gate, '');
    const stopped = stops ? await toStop(world, workers, ids, stops) : [];
    for (const { child } of stopped) child.kill('SIGTERM');
    const acting = visit.act?.(world, ids, when);
    acting?.catch(() => undefined);
    const died = await death();
    this.deaths.push(died);
    const killed = workers.find(({ child }) => child.pid === died.pid);
    // Else it was a command, which nobody has to replace.
    if (killed) await eventually(() => killed.child.signalCode === 'SIGKILL', PATIENCE_MS, 'a worker that was killed');
    this.workers = this.workers.filter((_, index) => {
      const worker = workers[index];
      return worker === undefined || (worker !== killed && !stopped.includes(worker));
    });
    this.fill(world);
    await acting;
    return ids;
  }
}

function isRunning({ child }: WorkerProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

function alive(worker: WorkerProcess): void {
  if (!isRunning(worker)) throw new Error(`another worker ended too: ${worker.logs.join('\n')}`);
}

/** For all visits of an arena: the first test of the second waits for the whole first. */
const WHOLE_MS = 1_800_000;

/**
 * Reports each visit as two tests. Visits of one backend and one kind of settings follow one another in a world of their own,
 * and the worlds of a file exist at the same time: most of what they do is to wait for leases. Of several ways to one point the
 * first is gone always, the others in the long tests only but for those that say `always`.
 *
 * @param paths all of whose points must be among the visits
 */
export function arenas(backend: Backend, paths: readonly Path[], visits: readonly Visit[], worlds = 1): void {
  const groups = new Map<string, Visit[]>();
  const wanted = visited(backend, paths, visits).filter(
    (visit, index) => LONG || isFirstOfItsPoint(visit, index, visits),
  );
  wanted.forEach((visit, index) => {
    const key = visit.settings ? JSON.stringify(visit.settings) : `${index % worlds}`;
    groups.set(key, [...(groups.get(key) ?? []), visit]);
  });
  describe(`backend ${backend}`, () => {
    for (const group of groups.values()) {
      const arena = new Arena({ EVENT_BUS_BACKEND: backend, ...group[0]?.settings }, group);
      ofFile.push(arena);
      const titles = group.flatMap((visit) => (visit.sides ?? SIDES).map((side) => titleOf(visit, side)));
      it.each(titles)('%s', (title) => arena.result(title), WHOLE_MS);
    }
  });
}

/** Further ways to a point; of each kill's 5 s of CPU time most is the next worker's start. */
const LONG = process.env.OUTBOX_TEST_LONG === 'on';

function isFirstOfItsPoint({ point, always = false }: Visit, index: number, visits: readonly Visit[]): boolean {
  return always || visits.findIndex((other) => other.point === point) === index;
}

// Of the whole file: what is bound to a block is not ended when all tests of that block are left out.
const ofFile: Arena[] = [];
beforeAll(() => {
  for (const arena of ofFile) arena.start();
});
afterAll(() => Promise.all(ofFile.map((arena) => arena.close())), WHOLE_MS);
