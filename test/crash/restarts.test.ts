import type { Server } from '../../src/servers';
import { eventually } from '../support/eventually';
import { deliveryRows } from '../support/handled';
import type { Settings, WorkerProcess } from '../support/outbox';
import { Load } from './load';
import { atRest, verify } from './outcome';
import { ownWorld, type OwnWorld } from './ownWorld';
import { CrashWorld, PATIENCE_MS } from './world';

/** As by default: a claim outlives the restart of a server. */
const LEASE: Settings = {
  OUTBOX_LEDGER_LEASE_MS: '30000',
  OUTBOX_LEDGER_RENEW_MS: '10000',
  OUTBOX_ACK_WAIT_MS: '10000',
};

describe('servers that are restarted while events flow', () => {
  let own: OwnWorld;

  beforeAll(async () => {
    own = await ownWorld();
  }, 180_000);
  afterAll(() => own.close(), 180_000);

  it.each(['db', 'nats'])(
    'backend %s: one at a time and all together, nothing is lost, no effect comes twice, no event dies, and no outage of NATS or Temporal spends an attempt',
    (backend) =>
      CrashWorld.during({ EVENT_BUS_BACKEND: backend, ...LEASE }, async (world) => {
        const workers = [await world.worker(), await world.worker()];
        const load = new Load(world);
        await flows(world);
        for (const server of [own.nats, own.temporal]) {
          await restart(server);
          await flows(world);
        }
        expect(await attemptsSpent(world)).toEqual([]);

        await restart(own.postgres);
        await flows(world);
        await Promise.all([own.postgres, own.nats, own.temporal].map(restart));
        await flows(world);
        const ids = await load.stop();
        await atRest(world, ids);
        await verify(world, { ids, deaths: [] });
        expect(await deliveryRows(world.db)).toEqual([]);
        expect(workers.map(alive)).toEqual([true, true]);
        console.info(
          `backend ${backend}: ${ids.length} events, attempts spent: ${(await attemptsSpent(world)).length}`,
        );
      }),
    900_000,
  );

  async function restart(server: Server): Promise<void> {
    await server.stop();
    await server.start();
  }

  /** Two seconds' worth of events has been handled since this call, by both handlers. */
  async function flows(world: CrashWorld): Promise<void> {
    const done = async () => {
      const { rows } = await world.db.query<{ done: number }>(
        `SELECT count(*)::integer AS done FROM :schema.processed_events WHERE status = 'done'`,
      );
      return rows[0]?.done ?? 0;
    };
    // PostgreSQL may just have been restarted, and this connection with it.
    const before = await eventually(async () => ({ done: await done() }), PATIENCE_MS);
    await eventually(async () => (await done()) >= before.done + 400, PATIENCE_MS, '400 handlings');
  }
});

/** Entries that were not the first attempt. */
function attemptsSpent(world: CrashWorld): Promise<unknown[]> {
  return Promise.resolve(world.journal().filter(({ kind, attempt = 1 }) => kind === 'begin' && attempt > 1));
}

function alive({ child }: WorkerProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}
