import type { NewEvent } from '../../src/event';
import { enqueue } from '../support/events';
import { eventually } from '../support/eventually';
import type { Settings, WorkerProcess } from '../support/outbox';
import { atRest, verify } from './outcome';
import { CrashWorld, PATIENCE_MS, type Death, type Fault } from './world';

/** A place to die at, and the events that lead there. */
export interface Case {
  readonly name: string;
  readonly fault: Fault;
  readonly events: readonly NewEvent[];
  /** A file that their handlers wait for: made, with the plan, once they have been handed over to delivery runs. */
  readonly gate?: string;
  /** A worker is told to stop while the events are in its hand. */
  readonly stops?: boolean;
}

/** Two at a time in a file: sixteen that start at once would take longer than a start may. */
const starting: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];

/**
 * One world with two workers, in which case after case kills whichever comes to the place first: the other takes over, and
 * a new one is begun for the next case. So each kill meets a worker that lives, and a start costs no time of its own.
 */
export class Arena {
  private readonly workers: Promise<WorkerProcess>[] = [];
  private readonly deaths: Death[] = [];
  private readonly results = new Map<string, Promise<void>>();
  private world: CrashWorld | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly settings: Settings,
    private readonly cases: readonly Case[],
  ) {}

  start(): void {
    this.last = this.open();
    for (const one of this.cases) {
      const result = this.last.then(() => this.run(one));
      result.catch(() => undefined);
      this.results.set(one.name, result);
      this.last = result.catch(() => undefined);
    }
  }

  /** Resolves when the case has been found right. */
  result(name: string): Promise<void> {
    return this.results.get(name) ?? Promise.reject(new Error(`there is no case ${name}`));
  }

  async close(): Promise<void> {
    await this.last;
    await Promise.allSettled(this.workers);
    await this.world?.close();
  }

  private async open(): Promise<void> {
    this.world = await CrashWorld.open(this.settings);
    this.spawn(this.world);
    this.spawn(this.world);
    await Promise.all(this.workers);
  }

  private spawn(world: CrashWorld): void {
    const worker = (starting.shift() ?? Promise.resolve()).then(() => world.worker());
    starting.push(worker.catch(() => undefined));
    this.workers.push(worker);
  }

  private async run({ fault, events, gate, stops }: Case): Promise<void> {
    const world = this.world;
    if (!world) throw new Error('the world could not be opened');
    const workers = await Promise.all(this.workers);
    try {
      if (gate !== undefined) world.remove(gate);
      const early = gate === undefined ? world.plan(fault) : undefined;
      const ids = await enqueue(world.db, events);
      if (gate !== undefined) await handedOver(world, ids);
      const death = early ?? world.plan(fault);
      if (gate !== undefined) world.write(gate, '');
      if (stops) (await atWork(world, workers, ids)).child.kill('SIGTERM');
      const died = await death();
      this.deaths.push(died);
      this.spawn(world);
      const killed = workers.find(({ child }) => child.pid === died.pid);
      await eventually(() => killed?.child.signalCode === 'SIGKILL');
      await atRest(world, ids);
      await verify(world, { ids, deaths: this.deaths });
      for (const worker of workers) if (worker !== killed) alive(worker, this.deaths);
    } catch (error) {
      const said = workers.flatMap(({ logs }) => logs.slice(-8)).join('\n');
      throw new Error(`${(error as Error).message}\n${said}`, { cause: error });
    }
  }
}

/** A worker that runs a handler of one of these events. */
async function atWork(world: CrashWorld, workers: readonly WorkerProcess[], ids: readonly string[]) {
  let found: WorkerProcess | undefined;
  await eventually(() => {
    const line = world.journal().find(({ kind, eventId }) => kind === 'begin' && ids.includes(eventId));
    found = line && workers.find(({ child }) => child.pid === line.pid);
    return found !== undefined;
  }, PATIENCE_MS);
  if (!found) throw new Error('no worker is at work');
  return found;
}

async function handedOver({ db }: CrashWorld, ids: readonly string[]): Promise<void> {
  await eventually(
    async () => {
      const { rows } = await db.query<{ left: number }>(
        `SELECT count(*)::integer AS left FROM :schema.event_queue q
        WHERE event_id = ANY ($1::uuid[])
          AND (status NOT IN ('retrying', 'done')
               OR NOT EXISTS (SELECT FROM :schema.deliveries d WHERE d.event_id = q.event_id))`,
        [ids],
      );
      return rows[0]?.left === 0;
    },
    PATIENCE_MS,
    'all handed over',
  );
}

function alive({ child, logs }: WorkerProcess, deaths: readonly Death[]): void {
  if (deaths.some(({ pid }) => pid === child.pid)) return;
  if (child.exitCode !== null || child.signalCode !== null)
    throw new Error(`another worker ended too: ${logs.join('\n')}`);
}

/** For all cases of a matrix: the first test of the second matrix waits for the whole first. */
const WHOLE_MS = 1_200_000;

/**
 * Reports each case as a test. Cases of one matrix follow one another in a world of their own, and the matrices of a file
 * run at the same time: most of what they do is to wait for leases.
 */
export function matrix(backend: string, handler: string, cases: readonly Case[]): void {
  const arena = new Arena({ EVENT_BUS_BACKEND: backend }, cases);
  started.push(() => arena.start());
  describe(`a handler that is ${handler}`, () => {
    afterAll(() => arena.close(), WHOLE_MS);
    it.each(cases.map(({ name }) => name))('%s', (name) => arena.result(name), WHOLE_MS);
  });
}

const started: (() => void)[] = [];
beforeAll(() => {
  for (const start of started) start();
});
