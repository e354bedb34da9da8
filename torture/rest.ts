import { setTimeout as sleep } from 'node:timers/promises';
import { openRuns } from './openRuns';
import type { World } from './world/world';

const LOOK_EVERY_MS = 500;
const SAY_EVERY_MS = 5_000;
/** So often in a row nothing may be open. */
const LOOKS = 3;

const OPEN = `
  SELECT (SELECT count(*)::integer FROM :schema.event_queue WHERE status NOT IN ('done', 'dead_lettered')) AS rows,
         (SELECT count(*)::integer FROM :schema.processed_events WHERE status = 'in_progress') AS claims,
         (SELECT count(*)::integer FROM :schema.deliveries WHERE state = 'waiting') AS deliveries`;

export interface Patience {
  readonly patienceMs: number;
  /** Default: as long. */
  readonly stagnantMs?: number | undefined;
}

/**
 * Waits until nothing is open. What is open when patience is over, or when nothing has changed for `stagnantMs`, is for
 * the checker.
 *
 * @returns whether it is at rest
 */
export async function atRest(world: World, { patienceMs, stagnantMs = patienceMs }: Patience): Promise<boolean> {
  const begun = performance.now();
  let quiet = 0;
  let saidAt = begun;
  let changedAt = begun;
  let last = '';
  for (;;) {
    const open = await openWork(world).catch((error: unknown) => ({ error: (error as Error).message }));
    quiet = Object.values(open).every((count) => count === 0) ? quiet + 1 : 0;
    if (quiet === LOOKS) return true;
    const at = performance.now();
    const text = JSON.stringify(open);
    if (text !== last) changedAt = at;
    last = text;
    if (at > begun + patienceMs || at > changedAt + stagnantMs) {
      world.options.say(`not at rest after ${Math.round((at - begun) / 1_000)} s: ${text}`);
      return false;
    }
    if (at > saidAt + SAY_EVERY_MS) {
      saidAt = at;
      world.options.say(`waiting for rest: ${text}`);
    }
    await sleep(LOOK_EVERY_MS);
  }
}

async function openWork(world: World): Promise<Record<string, number | string>> {
  const open = await openRows(world);
  // A run ends a moment after what it saw through.
  const isQuiet = Object.values(open).every((count) => count === 0);
  return isQuiet ? { ...open, runs: (await openRuns(world)).length } : open;
}

async function openRows(world: World): Promise<Record<string, number>> {
  const { rows } = await world.db.query<Record<string, number>>(OPEN);
  if (world.options.backend === 'db') return { ...rows[0] };
  const { stream, durable } = world.config.nats;
  const { num_pending, num_ack_pending } = await world.withJetStream((manager) =>
    manager.consumers.info(stream, durable),
  );
  return { ...rows[0], messages: num_pending + num_ack_pending };
}
