import { eventually } from '../support/eventually';
import type { WorkerProcess } from '../support/outbox';
import type { Visit } from './visit';
import { PATIENCE_MS, type CrashWorld } from './world';

/** @returns workers that are in the midst of these events, when there are some */
export async function toStop(
  world: CrashWorld,
  workers: readonly WorkerProcess[],
  ids: readonly string[],
  stops: NonNullable<Visit['stops']>,
) {
  if (stops === 'at work') return [await atWork(world, workers, ids)];
  const claimed =
    stops === 'handlings claimed'
      ? async () => (await world.unbegun(ids)) > WHILE_IT_IS_ASKED
      : async () => Boolean((await world.outbox.rowsByStatus()).processing);
  await eventually(claimed, PATIENCE_MS, `${stops} when the workers are told to stop`);
  return workers;
}

/** So many may begin before the signal arrives. */
const WHILE_IT_IS_ASKED = 4;

/** A worker that runs a handler of one of these events. */
async function atWork(world: CrashWorld, workers: readonly WorkerProcess[], ids: readonly string[]) {
  return eventually(
    () => {
      const line = world.journal().find(({ kind, eventId }) => kind === 'begin' && ids.includes(eventId));
      return line && workers.find(({ child }) => child.pid === line.pid);
    },
    PATIENCE_MS,
    'a worker at work',
  );
}

/** Resolves when all handlings of these events are seen through by delivery runs. */
export async function handedOver({ db }: CrashWorld, ids: readonly string[]): Promise<void> {
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
