import { events } from '../support/events';
import { eventually } from '../support/eventually';
import { arenas } from './arena';
import { fails, few, many, mixed, piled, slow } from './eventsOf';
import type { Visit } from './visit';
import { PATIENCE_MS, type CrashWorld } from './world';

const external = '"external"';
const transactional = '"transactional"';

/** Its second entry: by then the first may be through, or not. */
const inside = (handler: string): readonly Visit[] =>
  ['handler begin', 'handler middle', 'handler end'].map((point) => ({
    ...{ point, by: handler, match: `^${handler} 1$`, nth: 2, sides: ['before'] },
    // In the midst of an effect that no transaction takes back.
    always: handler === 'external' && point === 'handler middle',
    events: mixed,
  }));

const fastPath: readonly Visit[] = [
  // Their ledger claims differ: one waits for the disk.
  { point: 'sql claim ledger', by: 'transactional', match: transactional, events: mixed },
  { point: 'sql claim ledger', by: 'external', match: external, events: mixed },
  ...inside('transactional'),
  ...inside('external'),
  { point: 'sql finish ledger', by: 'transactional', match: transactional, events: mixed },
  { point: 'sql finish ledger', by: 'external', match: external, events: mixed },
  { point: 'sql commit handler', events: mixed },
  { point: 'sql renew ledger', events: slow },
  { point: 'sql release ledger', events: piled, stops: 'handlings claimed' },
  { point: 'sql hand over', events: fails(1) },
  { point: 'temporal SignalWithStartWorkflowExecution deliverEvent', events: fails(1) },
];

const handedOver: Visit = { point: 'nats +ACK', by: 'of what was handed over', events: fails(1) };

const receiving: readonly Visit[] = [
  { point: 'nats CONSUMER.MSG.NEXT', events: many },
  { point: 'nats message', by: 'that is not handed in', events: mixed, nth: 2, sides: ['before'] },
  { point: 'nats drain', match: '^_INBOX', events: mixed },
  { point: 'nats +ACK', events: mixed },
  handedOver,
  { point: 'nats +WPI', events: slow },
  { point: 'nats -NAK', by: 'of what it has not begun', events: piled, stops: 'handlings claimed' },
  { point: 'nats advisories CONSUMER.MSG.NEXT', events: few },
  { point: 'sql record exhausted', events: few, act: adviseOfHandled },
  { point: 'nats advisories +ACK', events: few, act: adviseOfHandled },
  { point: 'nats advisories +TERM', events: few, act: (world) => publishAdvisory(world, 'no JSON') },
  {
    point: 'nats advisories -NAK',
    by: 'of what somebody has in hand',
    events: events(1, () => ({ type: 'Outside', payload: { until: 'in hand' } })),
    arrange: (world) => Promise.resolve(world.remove('in hand')),
    act: async (world, [id = '']) => {
      await eventually(() => world.entries(id).length > 0, PATIENCE_MS, 'a handler that runs');
      await advise(world, id);
    },
    heal: (world) => Promise.resolve(world.write('in hand', '')),
  },
];

describe('a process killed at any point of receiving and of the fast path: nothing lost, no effect twice, nothing left open, and no attempt of what was not begun', () => {
  arenas('db', ['fast path'], fastPath);
  arenas('nats', ['receive', 'fast path'], [...fastPath, ...receiving], 2);
});

/** Given up although it was handled, as when its acknowledgement was lost: no dead letter. */
async function adviseOfHandled(world: CrashWorld, [id = '']: readonly string[]): Promise<void> {
  const handled = async () => {
    const { rows } = await world.db.query(
      `SELECT FROM :schema.processed_events WHERE event_id = $1 AND status = 'done'`,
      [id],
    );
    return rows.length === 2;
  };
  await eventually(handled, PATIENCE_MS, 'both handlings of the first');
  await advise(world, id);
}

/** As if the broker had given up the message of this event. */
async function advise(world: CrashWorld, eventId = ''): Promise<void> {
  const stored = async () => (await world.outbox.messages()).find((message) => message.eventId === eventId);
  const { seq } = await eventually(stored, PATIENCE_MS, 'its message');
  await publishAdvisory(world, JSON.stringify({ stream_seq: seq, deliveries: 10 }));
}

function publishAdvisory({ outbox }: CrashWorld, body: string): Promise<void> {
  const { stream, durable } = outbox.config().nats;
  outbox.nats.publish(`$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${stream}.${durable}`, body);
  return outbox.nats.flush();
}
