import { eventually } from '../support/eventually';
import { LEASE_MS, PATIENCE_MS, type CrashWorld, type Death, type Line } from './world';

/** Handlers by event type, as in `handlers.mjs`. */
const HANDLERS: Readonly<Record<string, readonly string[]>> = {
  ThingHappened: ['transactional', 'external'],
  InTransaction: ['transactional'],
  Outside: ['external'],
};

/** What is to be true of events once their world is at rest. */
export interface Expected {
  readonly ids: readonly string[];
  /** Workers that were killed, with the times. */
  readonly deaths: readonly Death[];
  /** Default true. False: somebody else saw to it that they are done, so that what a handler wrote down is no matter. */
  readonly entered?: boolean;
  /** Default false. True: an operator skipped their handlers before one came to its end. */
  readonly skipped?: boolean;
}

const STATE = `
  SELECT q.event_id::text AS id, q.event_type AS type, q.status, q.attempts,
         (SELECT jsonb_object_agg(p.handler, p.status) FROM :schema.processed_events p WHERE p.event_id = q.event_id) AS ledger,
         (SELECT jsonb_object_agg(d.handler, d.state) FROM :schema.deliveries d WHERE d.event_id = q.event_id) AS deliveries
    FROM :schema.event_queue q WHERE q.event_id = ANY ($1::uuid[])`;

interface State {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly attempts: number;
  readonly ledger: Readonly<Record<string, string>> | null;
  readonly deliveries: Readonly<Record<string, string>> | null;
}

/** Resolves when all events are handled, or skipped, and nothing of them is open; fails with what is left. */
export async function atRest(
  world: CrashWorld,
  ids: readonly string[],
  { skipped = false, ms = PATIENCE_MS }: { skipped?: boolean; ms?: number } = {},
): Promise<void> {
  await eventually(
    async () => {
      const { rows } = await world.db.query<State>(STATE, [ids]);
      const open = rows.filter(({ type, status, ledger, deliveries }) => {
        const handled = HANDLERS[type]?.every((handler) => ledger?.[handler] === 'done');
        const over = skipped
          ? HANDLERS[type]?.every((handler) => deliveries?.[handler] === 'skipped')
          : deliveries === null;
        return !handled || status !== 'done' || !over;
      });
      if (rows.length !== ids.length) throw new Error(`${rows.length} of ${ids.length} rows are there`);
      if (open.length > 0) throw new Error(`${open.length} are open: ${JSON.stringify(open.slice(0, 3))}`);
      const unacknowledged = await world.unacknowledged();
      if (unacknowledged > 0) throw new Error(`${unacknowledged} messages are not acknowledged`);
      return true;
    },
    ms,
    'everything handled',
  );
}

/**
 * Nothing lost, transactional effects once, others never two at the same time, attempts only of what was claimed; and no
 * process has changed anything that has no point.
 */
export async function verify(
  world: CrashWorld,
  { ids, deaths, entered = true, skipped = false }: Expected,
): Promise<void> {
  const wanted = new Set(ids);
  const { rows } = await world.db.query<State>(STATE, [ids]);
  const effects = await world.effects();
  const lines = world.journal().filter(({ eventId }) => wanted.has(eventId));
  const problems: string[] = [];
  for (const { id, type } of rows) {
    const handlers = HANDLERS[type] ?? [];
    const count = effects.get(id) ?? 0;
    if (entered && count !== (handlers.includes('transactional') && !skipped ? 1 : 0))
      problems.push(`${id} has ${count} effects`);
    for (const handler of handlers) {
      const own = lines.filter((line) => line.eventId === id && line.handler === handler);
      problems.push(...problemsOf(own, deaths, skipped, entered).map((problem) => `${problem}: ${inShort(own)}`));
    }
  }
  expect(problems).toEqual([]);
  expect(world.strangers()).toEqual([]);
}

/** As `begin 2 @<pid> +<ms>`. */
function inShort(lines: readonly Line[]): string {
  const [first] = lines;
  const since = (at: number) => at - (first?.at ?? 0);
  return lines.map(({ kind, attempt = '', pid, at }) => `${kind} ${attempt} @${pid} +${since(at)}`).join(', ');
}

interface Entry {
  readonly pid: number;
  readonly attempt: number;
  readonly from: number;
  readonly to: number;
  /** `interrupted`: failed by an outage, and not by the handler's own doing. */
  readonly ended: 'end' | 'failed' | 'interrupted' | 'killed' | 'nothing';
}

function problemsOf(lines: readonly Line[], deaths: readonly Death[], skipped: boolean, entered: boolean): string[] {
  const problems: string[] = [];
  const entries = entriesOf(lines, deaths);
  // Of workers that died with them; or that stood still on a busy machine, and were late for their own lease.
  const claims = lines.filter(
    (line) => line.kind === 'claiming' && (deaths.some(({ pid }) => pid === line.pid) || isLate(line, lines)),
  );
  if (entered && entries.some(({ ended }) => ended === 'end') === skipped)
    problems.push(skipped ? 'was skipped, and came to its end' : 'never came to its end');
  entries.forEach((entry, index) => {
    const next = entries[index + 1];
    if (entry.ended === 'nothing') problems.push('an entry has no end, and its worker lives');
    if (next && next.from < entry.to) problems.push('two at the same time');
    if (!next) return;
    // An attempt after a failure or a lost worker is the next one; what was claimed by a worker that died before it
    // entered the handler counts too.
    const more = next.attempt - entry.attempt;
    const least = ['killed', 'failed'].includes(entry.ended) ? 1 : 0;
    const most = ['failed', 'interrupted'].includes(entry.ended) || claims.some(({ pid }) => pid === entry.pid) ? 1 : 0;
    const lost = claims.filter(({ at }) => at > entry.from && at <= next.from).length;
    if (more < least || more > most + lost) problems.push(`${more} attempts between two entries`);
  });
  const first = entries[0];
  if (first && first.attempt > 1 + claims.length) problems.push('spent an attempt before a worker had begun it');
  return problems;
}

/** Its worker did not come to its handler before the lease was over. */
function isLate(claim: Line, lines: readonly Line[]): boolean {
  const begun = lines.find(({ kind, pid, at }) => kind === 'begin' && pid === claim.pid && at >= claim.at);
  return begun === undefined || begun.at - claim.at > LEASE_MS;
}

function entriesOf(lines: readonly Line[], deaths: readonly Death[]): Entry[] {
  return lines
    .filter(({ kind }) => kind === 'begin')
    .map(({ run, pid, attempt = 0, at }) => {
      const end = lines.find((line) => line.run === run && (line.kind === 'end' || line.kind === 'failed'));
      const death = deaths.find((died) => died.pid === pid);
      const ended = end ? endOf(end) : death ? 'killed' : 'nothing';
      return { pid, attempt, from: at, to: end?.at ?? death?.at ?? Infinity, ended };
    });
}

function endOf({ kind, reason = '' }: Line): Entry['ended'] {
  if (kind === 'end') return 'end';
  return reason.endsWith('is to fail') ? 'failed' : 'interrupted';
}
