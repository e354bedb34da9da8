import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { startNats, startPostgres, startTemporal } from 'temporal-outbox/servers';
import { freePort } from '../../../src/servers/ports';
import { readFilms } from '../demo/films';
import { Instance, secondDatabase } from '../demo/instance';
import { settle, type Running } from '../demo/job';
import { startMetadataProvider } from '../demo/metadataProvider';
import { StuckError } from '../demo/patience';
import { planOf, type Plan } from '../demo/plan';
import { agrees } from '../demo/reconcile/compare';
import { reconcileAll } from '../demo/reconcile/reconcileAll';
import { replay } from '../demo/replay';
import { tableOf } from '../demo/report';
import { findOpen } from '../demo/settle';
import { withoutAddresses } from './support/environment';
import { Killer, type Target } from './support/killer';
import { Supervised } from './support/supervised';

const KILLING_MS = 180_000;
/** From the last kill to the last effect: leases run out, servers recover, and a busy machine takes its time. */
const PATIENCE_MS = 300_000;
const TIMEOUT_MS = KILLING_MS + 3 * PATIENCE_MS;
const LOOK_AGAIN_MS = 500;
const FILMS = 60;

describe.each([
  ['nats', 20_261],
  ['db', 20_262],
] as const)('backend %s', (backend, seed) => {
  it(
    'the whole diary, while workers, servers, broker, database and Temporal are killed at random for 3 minutes, ends exactly as planned',
    async () => {
      const closers: (() => Promise<unknown> | void)[] = [];
      try {
        const { running, supervised, targets } = await start(backend, closers);
        const origins = { first: running.first.instance.origin, second: running.second.instance.origin };
        const plan = planOf(readFilms(), origins, { films: FILMS });
        const killer = new Killer(targets, seed);
        const killing = killer.killFor(KILLING_MS);
        await tell(plan, running, killing);
        await killing;
        await calm(running);
        const comparisons = await reconcileAll(running.first, running.second, plan);
        const ended = supervised.map(({ name, endedItself }) => `${name} ${endedItself}`).join(', ');
        console.info(`${killer.summary()}; ended by itself: ${ended}\n${tableOf(comparisons)}`);
        expect(comparisons.filter((each) => !agrees(each))).toEqual([]);
        // A target that never died proves nothing.
        expect([...killer.kills.values()].every((kills) => kills > 0)).toBe(true);
      } finally {
        for (const closer of closers.reverse()) await Promise.resolve(closer()).catch(() => undefined);
      }
    },
    TIMEOUT_MS,
  );
});

interface Both {
  readonly first: Running;
  readonly second: Running;
}

/** Act by act, and all of it again until the killing is over: it must not end before. */
async function tell(plan: Plan, { first, second }: Both, killing: Promise<void>): Promise<void> {
  const origins = { first: first.instance.origin, second: second.instance.origin };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let over = false;
  void killing.then(() => (over = true));
  do {
    for (const { phases } of plan.acts) {
      await replay(phases, origins, signal);
      await calm({ first, second });
    }
  } while (!over);
}

/** What was under way comes to its end, through whatever is killed meanwhile. */
async function calm({ first, second }: Both): Promise<void> {
  const patience = { signal: AbortSignal.timeout(2 * PATIENCE_MS), ms: PATIENCE_MS };
  for (;;) {
    try {
      return await settle([first, second], patience);
    } catch (error) {
      // The look itself met a database that was away.
      if (error instanceof StuckError)
        throw new Error(`${error.message}\n${await stuck(first)}\n${await stuck(second)}`, { cause: error });
      if (patience.signal.aborted) throw error;
      await sleep(LOOK_AGAIN_MS);
    }
  }
}

async function stuck({ instance, pool }: Running): Promise<string> {
  const open = await findOpen(pool, instance.options.outboxSchema);
  return [instance.options.name, ...open].join('\n  ');
}

/** Two instances on three servers of their own, all of which may be killed. */
async function start(
  backend: 'nats' | 'db',
  closers: (() => Promise<unknown> | void)[],
): Promise<{ running: Both; supervised: Supervised[]; targets: Target[] }> {
  const directory = mkdtempSync(join(tmpdir(), 'movie-diary-chaos-'));
  closers.push(() => rmSync(directory, { recursive: true, force: true }));
  const servers = await Promise.all([
    startPostgres({ directory: join(directory, 'p'), durable: false }),
    startNats({ directory: join(directory, 'n') }),
    startTemporal({ directory: join(directory, 't'), headless: true }),
  ]);
  for (const server of servers) closers.push(() => server.stop());
  const [postgres, nats, temporal] = servers;
  const metadata = await startMetadataProvider({ port: await freePort() });
  closers.push(() => metadata.close());
  const open = async (name: 'first' | 'second', databaseUrl: string): Promise<Running> => {
    const instance = new Instance({
      ...{ name, directory, databaseUrl, metadataUrl: metadata.url, port: await freePort() },
      outboxSchema: name === 'first' ? 'public' : 'second',
      env: {
        ...withoutAddresses(process.env),
        ...SETTINGS,
        EVENT_BUS_BACKEND: backend,
        NATS_URL: nats.url,
        TEMPORAL_ADDRESS: temporal.url,
        ...(name === 'second' && { OUTBOX_STREAM: 'SECOND', OUTBOX_SUBJECT_PREFIX: 'second' }),
      },
    });
    closers.push(() => instance.stop());
    await instance.start();
    const pool = new Pool({ connectionString: databaseUrl, max: 2 });
    pool.on('error', () => undefined);
    closers.push(() => pool.end());
    return { instance, pool };
  };
  const first = await open('first', postgres.url);
  const second = await open('second', await secondDatabase(postgres.url));
  const supervised = [first, second].flatMap(({ instance }) => [
    new Supervised(instance, 'server'),
    new Supervised(instance, 'worker'),
  ]);
  for (const each of supervised) closers.push(() => each.stop());
  const named = [
    ['PostgreSQL', postgres],
    ['NATS', nats],
    ['Temporal', temporal],
  ] as const;
  const ours = named
    .filter(([name]) => backend === 'nats' || name !== 'NATS')
    .map(([name, server]) => ({ name, kill: () => server.kill('SIGKILL'), start: () => server.start() }));
  return { running: { first, second }, supervised, targets: [...supervised, ...ours] };
}

/** What a dead worker held is another's soon, and no handler runs out of attempts by the deaths of others. */
const SETTINGS = {
  EVENT_QUEUE_MAX_ATTEMPTS: '60',
  OUTBOX_LEDGER_LEASE_MS: '5000',
  OUTBOX_LEDGER_RENEW_MS: '1500',
  OUTBOX_ACK_WAIT_MS: '5000',
};
