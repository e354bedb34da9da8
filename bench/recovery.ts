import { jetstreamManager } from '@nats-io/jetstream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figures } from './figures';
import { addDue, startAfresh } from './fill';
import type { Rig } from './rig';
import { streamIds } from './streamIds';
import { until } from './until';
import type { WorkerProcess } from './worker';

/** Long enough for a drain to be in full flow, and for a kill to leave most of it. */
const EVENTS = 50_000;
const KILL_AFTER = 10_000;
const KILLS = 3;
const TRIES = 5;
const OUTAGE_MS = 10_000;

/** How soon events flow again after the claiming worker was killed, and after the broker was away. */
export async function recovery(rig: Rig): Promise<Figures> {
  const { relay, say, manager, config } = rig;
  const kills = rig.quick ? 1 : KILLS;
  const times: number[] = [];
  for (let tries = 0; times.length < kills; tries++) {
    if (tries === kills + TRIES) throw new Error('the claiming worker could not be hit by a kill');
    const ms = await killClaimer();
    if (ms === undefined) continue;
    say(`recovery: flowing ${Math.round(ms)} ms after the claiming worker was killed`);
    times.push(ms);
  }
  const brokerBackMs = await brokerOutage();
  say(`recovery: flowing ${Math.round(brokerBackMs)} ms after the broker's answer`);
  // The worst of all, since one kill lands just before a heartbeat and the next just after one.
  return { recovery: { workerKilledMs: Math.max(...times), workerKilledAllMs: times, brokerBackMs } };

  /** @returns undefined when the claim had moved on to the other worker in the moment of the kill */
  async function killClaimer(): Promise<number | undefined> {
    await startAfresh(rig);
    const workers = [await rig.worker(), await rig.worker()];
    await relay.pause();
    await startAfresh(rig, EVENTS);
    await relay.resume();
    await until(async () => (await stored()) >= KILL_AFTER, 1);
    const pid = await relay.claimingPid();
    const victim = workers.find((worker) => worker.pid === pid);
    const killedAt = performance.now();
    await victim?.kill();
    const hit = victim !== undefined && (await relay.claimingPid()) === pid;
    const ms = hit ? await flowAfter(killedAt) : undefined;
    await until(async () => (await open()) === 0);
    const ids = await streamIds(rig);
    for (const worker of workers) await worker.stop();
    if (ids.length !== EVENTS || new Set(ids).size !== EVENTS) {
      throw new Error(
        `after a kill the stream holds ${ids.length} messages of ${new Set(ids).size} ids, not ${EVENTS}`,
      );
    }
    return ms;
  }

  /**
   * The next event after a claim newer than any of the killed worker's has begun: what arrives before it was still on
   * its way from the one that is gone.
   */
  async function flowAfter(killedAt: number): Promise<number> {
    const old = await epoch();
    await until(async () => (await epoch()) > old);
    const before = await stored();
    await until(async () => (await stored()) > before, 1);
    return performance.now() - killedAt;
  }

  async function brokerOutage(): Promise<number> {
    await startAfresh(rig);
    const worker: WorkerProcess = await rig.worker();
    await addDue(rig, 100);
    await until(async () => (await stored()) === 100);
    await rig.broker.kill('SIGKILL');
    await addDue(rig, 1_000);
    await sleep(OUTAGE_MS);
    await rig.broker.start();
    const answeredAt = performance.now();
    // A connection of its own: what the bench's lost one asks is answered only when that one is back.
    const fresh = await rig.connectNats();
    const watching = await jetstreamManager(fresh);
    await until(async () => (await watching.streams.info(config.nats.stream)).state.messages > 100);
    const ms = performance.now() - answeredAt;
    await fresh.close();
    await until(async () => (await open()) === 0);
    await worker.stop();
    const ids = await streamIds(rig);
    if (new Set(ids).size !== 1_100 || ids.length !== 1_100)
      throw new Error(`after the outage the stream holds ${ids.length} messages of ${new Set(ids).size} ids, not 1100`);
    return ms;
  }

  async function stored(): Promise<number> {
    return (await manager.streams.info(config.nats.stream)).state.messages;
  }

  async function epoch(): Promise<number> {
    const { rows } = await rig.db.query<{ epoch: string }>('SELECT epoch FROM :schema.relay_fence');
    return Number(rows[0]?.epoch);
  }

  async function open(): Promise<number> {
    const { rows } = await rig.db.query<{ open: number }>(
      `SELECT count(*)::integer AS open FROM :schema.event_queue WHERE status <> 'done'`,
    );
    return rows[0]?.open ?? 0;
  }
}
