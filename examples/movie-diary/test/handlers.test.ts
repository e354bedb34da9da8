import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../src/servers/ports';
import { eventually } from '../../../test/support/eventually';
import { EVENTS } from '../src/events';
import { endState } from './support/endState';
import { everyEvent } from './support/everyEvent';
import type { Rig } from './support/riggedWorker';
import { TwoInstances, type TwoInstancesOptions } from './support/twoInstances';

/** Each is a whole story on two instances, and the worker of one of them dies twice at each handler. */
const TIMEOUT_MS = 600_000;

describe('every handler may run again', () => {
  let ports: TwoInstancesOptions['ports'];
  let oneRun: Awaited<ReturnType<typeof endState>>;

  beforeAll(async () => {
    ports = { first: await freePort(), second: await freePort(), metadata: await freePort() };
    oneRun = await told('db');
  }, TIMEOUT_MS);

  it('and every event occurs in the story that is told', () => {
    const occurred = new Set(oneRun.events?.map((text) => text.split(' ')[0]));
    expect(EVENTS.map(({ type }) => type).filter((type) => !occurred.has(type))).toEqual([]);
    expect(oneRun.objects?.length).toBeGreaterThan(4);
  });

  it.each([
    ['db', 'killed'],
    ['nats', 'killed'],
    ['db', 'at once'],
    ['nats', 'at once'],
    ['db', 'twice'],
    ['nats', 'twice'],
  ] as const)(
    'backend %s, each handler %s: rows, events and objects are those of one run',
    async (backend, rig) => {
      expect(await told(backend, rig)).toEqual(oneRun);
    },
    TIMEOUT_MS,
  );

  /** Tells the story to the end. @returns what the first instance holds then */
  async function told(backend: 'db' | 'nats', rig?: Rig): Promise<Record<string, string[]>> {
    const marks = mkdtempSync(join(tmpdir(), 'movie-diary-marks-'));
    const script = join(__dirname, 'support', 'riggedWorker.ts');
    const two = await TwoInstances.start({
      ...{ backend, ports, settings: QUICK },
      ...(rig && { worker: { script, env: { RIG: rig, RIG_DIRECTORY: marks } } }),
    });
    const origins = { first: two.first.instance.origin, second: two.second.instance.origin };
    const ended = new AbortController();
    const reviving = revive(two, ended.signal);
    try {
      await two.play(everyEvent(origins));
      if (rig === 'killed') expect(readdirSync(marks).length).toBe(2 * (await handlers(two)));
      return await endState(two.first.instance, two.first.pool);
    } finally {
      ended.abort();
      await reviving;
      await two.close();
      rmSync(marks, { recursive: true });
      expect(existsSync(two.directory)).toBe(false);
    }
  }
});

/** What a dead worker held is another's soon, and no handler runs out of attempts by the deaths of others. */
const QUICK = {
  EVENT_QUEUE_MAX_ATTEMPTS: '60',
  OUTBOX_HEARTBEAT_TIMEOUT_MS: '2000',
  OUTBOX_OWN_QUEUE_TIMEOUT_MS: '1000',
  OUTBOX_ACK_WAIT_MS: '1500',
  OUTBOX_LEDGER_LEASE_MS: '2000',
  OUTBOX_LEDGER_RENEW_MS: '500',
  OUTBOX_BACKOFF_FIRST_MS: '100',
  OUTBOX_BACKOFF_MAX_MS: '500',
};

/** Starts the first instance's worker anew each time that it dies. */
async function revive({ first: { instance } }: TwoInstances, signal: AbortSignal): Promise<void> {
  const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve));
  while (!signal.aborted) {
    await Promise.race([instance.worker.ended, stopped]);
    if (!signal.aborted) await instance.startWorker().catch(() => undefined);
  }
}

async function handlers({ first: { instance, pool } }: TwoInstances): Promise<number> {
  const { rows } = await eventually(() =>
    pool.query<{ count: number }>(
      `SELECT cardinality(handlers) AS count FROM "${instance.options.outboxSchema}".outbox_installation`,
    ),
  );
  return rows[0]?.count ?? 0;
}
