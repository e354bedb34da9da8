import { events } from '../support/events';
import { eventually } from '../support/eventually';
import { arenas } from './arena';
import { deadOfHandlers, deadOfRelay, reemitAll, reemitByCommand, reemitBySignal } from './deadLetters';
import { fails, few, held } from './eventsOf';
import { skipByCommand, skipBySignal } from './skips';
import type { Visit } from './visit';
import { PATIENCE_MS, type CrashWorld } from './world';

const external = '"external"';
const transactional = '"transactional"';

const START = 'temporal SignalWithStartWorkflowExecution deliverEvent';

const inside = (handler: string): readonly Visit[] =>
  ['handler begin', 'handler middle', 'handler end'].map((point) => ({
    ...{ point, by: `${handler} in a delivery run`, match: `^${handler} 2$`, sides: ['before'] },
    // In the midst of an effect that no transaction takes back.
    always: handler === 'external' && point === 'handler middle',
    events: fails(1),
  }));

const deliveryRun: readonly Visit[] = [
  { point: 'sql begin attempt', events: fails(1) },
  ...inside('transactional'),
  ...inside('external'),
  { point: 'sql finish attempt', by: 'transactional', match: transactional, events: fails(1) },
  { point: 'sql finish attempt', by: 'external', match: external, events: fails(1) },
  { point: 'sql commit handler', by: 'in a delivery run', events: held('commit'), gate: 'commit' },
  { point: 'sql end attempt', events: fails(2) },
  { point: 'sql settle row', by: 'at the end of a run', events: held('settled'), gate: 'settled' },
  { point: 'sql take orphans', events: fails(1) },
  {
    point: 'sql forsake orphans',
    events: fails(1),
    // Temporal is away for those who would start their runs, and there again for the sweep.
    arrange: (world) => Promise.resolve(world.write('refused', START)),
    heal: (world) => Promise.resolve(world.remove('refused')),
  },
  { point: 'sql skip', by: 'by signal', events: fails(8), act: skipBySignal, skipped: true },
  {
    point: 'sql drop delivery',
    by: 'of what was finished after all',
    events: events(2, (n) => ({ type: 'Outside', aggregateId: `a${n}`, payload: { fails: 5 } })),
    act: finishBehindItsBack,
    unentered: true,
  },
];

/** Not due for an hour, so that they can be made dead letters first. */
const later = few.map((event) => ({ ...event, availableAt: new Date(Date.now() + 3_600_000) }));

const ordered: readonly Visit[] = [
  { point: 'sql skip', by: 'by command', events: later.slice(0, 2), act: skipByCommand, skipped: true },
  { point: 'sql re-emit', by: 'of handlers, by signal', events: later, act: reemitBySignal(deadOfHandlers) },
  { point: 'sql re-emit', by: 'of the relay, by signal', events: later, act: reemitBySignal(deadOfRelay) },
  {
    point: 'sql re-emit',
    by: 'by command, without Temporal',
    events: later,
    act: reemitByCommand(deadOfRelay, 'ids', 'database'),
  },
  { point: 'sql re-emit all of handlers', events: later, act: reemitAll(deadOfHandlers) },
  { point: 'sql re-emit all of the relay', events: later, act: reemitAll(deadOfRelay) },
  {
    point: 'sql re-emit all of the relay',
    by: 'by command, without Temporal',
    events: later,
    act: reemitByCommand(deadOfRelay, 'all', 'database'),
  },
  {
    point: 'temporal UpdateWorkflowExecution reemit',
    events: later,
    act: reemitByCommand(deadOfHandlers, 'ids', 'relay'),
  },
  {
    point: 'temporal UpdateWorkflowExecution reemitAll',
    events: later,
    act: reemitByCommand(deadOfRelay, 'all', 'relay'),
  },
];

describe('a process killed at any point of a delivery run and of a re-emit: nothing lost, no effect twice, nothing left open', () => {
  arenas(
    'db',
    ['delivery run', 're-emit'],
    [...deliveryRun, { point: 'sql revive rows', events: fails(1) }, ...ordered],
    2,
  );
  arenas('nats', ['delivery run', 're-emit'], [...deliveryRun, ...ordered], 2);
});

/** As if the worker that had the claim before had come to its end after all. */
async function finishBehindItsBack({ db }: CrashWorld, ids: readonly string[]): Promise<void> {
  await eventually(
    async () => {
      const { rowCount } = await db.query(
        `INSERT INTO :schema.processed_events (event_id, handler, status, started_at, processed_at)
         SELECT event_id, handler, 'done', clock_timestamp(), clock_timestamp() FROM :schema.deliveries
          WHERE event_id = ANY ($1::uuid[]) AND state = 'waiting'
         ON CONFLICT (event_id, handler) DO NOTHING`,
        [ids],
      );
      const { rows } = await db.query(
        `SELECT FROM :schema.processed_events WHERE event_id = ANY ($1::uuid[]) AND status = 'done'`,
        [ids],
      );
      return rowCount !== null && rows.length === ids.length;
    },
    PATIENCE_MS,
    'all finished by somebody else',
  );
}
