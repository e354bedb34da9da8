import { reemit } from '../../src/deadLetters/reemit';
import { events } from '../support/events';
import { eventually } from '../support/eventually';
import type { Settings } from '../support/outbox';
import { arenas } from './arena';
import { fails, few, many, slow } from './eventsOf';
import type { Visit } from './visit';
import { PATIENCE_MS, type CrashWorld } from './world';

/** Rows that the relay has given up wait for the operator, who raises the limit first. */
const LARGE = 'large';

/** One statement each, on the way of every event. */
const claimed: readonly Visit[] = [
  { point: 'sql raise fence', events: few },
  { point: 'sql take over', events: few },
  { point: 'sql reclaim leases', events: few },
  { point: 'sql claim', events: few },
  { point: 'sql mark done', events: few },
];

/** The claim is open, and nobody has been given what came of it, when its worker is told to stop. */
const held: Settings = { OUTBOX_SLICE_MS: '5000', OUTBOX_SETTLE_MS: '5000' };

describe('a process killed at any point of claim, publish and mark: nothing lost, no effect twice, nothing left open', () => {
  arenas(
    'db',
    ['claim', 'publish', 'mark'],
    [
      ...claimed,
      { point: 'sql leave to runs', events: fails(1) },
      { point: 'sql settle row', by: 'when it was left to a run', events: fails(1) },
      { point: 'sql mark some done', events: slow, stops: 'at work', settings: held },
      { point: 'sql free', events: slow, stops: 'at work', settings: held },
      { point: 'sql wake relay', events: slow, stops: 'at work', settings: held },
    ],
  );

  const full = { events: few, arrange: fill, heal: (world: CrashWorld) => change(world, { max_msgs: -1 }) };
  arenas(
    'nats',
    ['claim', 'publish', 'mark'],
    [
      ...claimed,
      { point: 'nats publish', events: few },
      { point: 'nats batch begin', events: many },
      { point: 'nats batch add', events: many, nth: 20 },
      { point: 'nats batch commit', events: many },
      { point: 'sql mark some done', events: few, stops: 'rows claimed', settings: held },
      { point: 'sql free', events: few, stops: 'rows claimed', settings: held },
      { point: 'sql defer', ...full },
      { point: 'sql wake relay', ...full },
      { point: 'sql claim probe', ...full },
      { point: 'sql put back probe', ...full },
      { point: 'sql free deferred', ...full, act: afterDeferral },
      {
        point: 'sql bury',
        events: [
          ...events(2, (n) => ({ type: 'Outside', aggregateId: LARGE, payload: { n, text: 'x'.repeat(9_000) } })),
          ...few,
        ],
        arrange: (world) => change(world, { max_msg_size: 4_000 }),
        heal: async (world) => {
          const buried = async () => (await world.outbox.rowsByStatus()).dead_lettered === 4;
          await eventually(buried, PATIENCE_MS, 'both of either side buried');
          await change(world, { max_msg_size: -1 });
          const { rows } = await world.db.query<{ id: string }>(
            `SELECT event_id::text AS id FROM :schema.event_queue WHERE status = 'dead_lettered'`,
          );
          await reemit(
            world.db.pool,
            rows.map(({ id }) => id),
            { schema: world.db.schema },
          );
        },
      },
    ],
    2,
  );
});

async function change({ outbox }: CrashWorld, settings: { max_msgs?: number; max_msg_size?: number }): Promise<void> {
  const { stream } = outbox.config().nats;
  const { config } = await outbox.manager.streams.info(stream);
  await outbox.manager.streams.update(stream, { ...config, discard: 'new', ...settings });
}

/** The stream takes no more. */
async function fill(world: CrashWorld): Promise<void> {
  const { state } = await world.outbox.manager.streams.info(world.outbox.config().nats.stream);
  await change(world, { max_msgs: Math.max(1, state.messages) });
}

/** Room again once something has been deferred: the first that goes out frees the rest. */
async function afterDeferral(world: CrashWorld): Promise<void> {
  const deferred = async () => ((await world.outbox.rowsByStatus()).deferred ?? 0) > 1;
  await eventually(deferred, PATIENCE_MS, 'deferred rows');
  await change(world, { max_msgs: -1 });
}
