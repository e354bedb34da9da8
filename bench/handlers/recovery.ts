import { setTimeout as sleep } from 'node:timers/promises';
import { builtEnqueue } from '../build';
import { until } from '../until';
import type { Stage } from './stage';

/** What a worker takes in that has handled nothing yet: four times its concurrency. */
const IN_HAND = 32;
const KILLS = 3;
const POLL_MS = 50;
const SETTLED_MS = 1_000;

const KINDS = {
  transactional: { type: 'OrderShipped', handler: 'shipments' },
  external: { type: 'LetterDue', handler: 'letters' },
} as const;

/**
 * How soon events are handled that were in the hand of a worker when it was killed. Its handlers never end, so that all
 * it can take in is in its hand; those of the second worker end at once. Started is what has a ledger claim: the other
 * worker must wait until its lease is over. The kill comes right after a renewal, which is the worst moment for it.
 */
export async function recovery(stage: Stage): Promise<Record<string, unknown>> {
  const kills = stage.rig.quick ? 1 : KILLS;
  const figures: Record<string, unknown> = {};
  for (const [kind, { type, handler }] of Object.entries(KINDS)) {
    const times = { started: [] as number[], notStarted: [] as number[] };
    for (let kill = 1; kill <= kills; kill++) {
      const { started, notStarted } = await killWithEventsInHand(stage, type, handler);
      stage.say(`recovery ${kill}/${kills} ${kind}: not started ${seconds(notStarted)}, started ${seconds(started)}`);
      times.started.push(started);
      times.notStarted.push(notStarted);
    }
    // The worst of all, and each until its last event.
    figures[`${kind}StartedMs`] = Math.max(...times.started);
    figures[`${kind}NotStartedMs`] = Math.max(...times.notStarted);
    figures[`${kind}AllMs`] = times;
  }
  return { recovery: figures };
}

/** @returns milliseconds from the kill until the last event of each kind was handled */
async function killWithEventsInHand(stage: Stage, type: string, handler: string) {
  const { db, config, manager } = stage.rig;
  await stage.startAfresh();
  const victim = await stage.worker({ BENCH_HANGS: 'on' });
  const events = Array.from({ length: IN_HAND }, (_, n) => ({
    ...{ type, aggregateType: 'order', aggregateId: String(n), payload: { n } },
  }));
  const ids = await builtEnqueue().enqueueEvents(db.pool, events, { schema: db.schema });
  await until(async () => (await inHand()) === IN_HAND);
  await sleep(SETTLED_MS);
  const heir = await stage.worker();
  const started = new Set((await ledger()).map(({ id }) => id));
  const notStarted = ids.filter((id) => !started.has(id));
  if (started.size === 0 || notStarted.length === 0)
    throw new Error(
      `the killed worker would have had ${started.size} of ${IN_HAND} events started: nothing to compare`,
    );
  const renewed = await leaseEnd();
  await until(async () => (await leaseEnd()) !== renewed);
  await victim.kill();
  const killedAt = performance.now();
  const ms = { started: NaN, notStarted: NaN };
  await until(async () => {
    const done = new Set((await ledger()).filter(({ status }) => status === 'done').map(({ id }) => id));
    const now = performance.now() - killedAt;
    if (Number.isNaN(ms.started) && [...started].every((id) => done.has(id))) ms.started = now;
    if (Number.isNaN(ms.notStarted) && notStarted.every((id) => done.has(id))) ms.notStarted = now;
    return !Number.isNaN(ms.started + ms.notStarted);
  }, POLL_MS);
  const { twice } = await stage.effects(handler);
  if (twice > 0) throw new Error(`after a kill ${twice} transactional effects are there twice`);
  await heir.stop();
  return ms;

  async function inHand(): Promise<number> {
    if (stage.backend === 'nats')
      return (await manager.consumers.info(config.nats.stream, config.nats.durable)).num_ack_pending;
    const { rows } = await db.query<{ rows: number }>(
      `SELECT count(*)::integer AS rows FROM :schema.event_queue WHERE status = 'processing'`,
    );
    return rows[0]?.rows ?? 0;
  }

  async function ledger(): Promise<{ id: string; status: string }[]> {
    const sql = 'SELECT event_id AS id, status FROM :schema.processed_events WHERE handler = $1';
    return (await db.query<{ id: string; status: string }>(sql, [handler])).rows;
  }

  async function leaseEnd(): Promise<string> {
    const sql = 'SELECT max(lease_until)::text AS until FROM :schema.processed_events WHERE handler = $1';
    return (await db.query<{ until: string }>(sql, [handler])).rows[0]?.until ?? '';
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
