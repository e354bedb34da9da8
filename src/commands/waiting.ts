import { Option, type Command } from 'commander';
import { positive } from '../cli/arguments';
import { colors } from '../cli/colors';
import { withDatabase } from '../cli/database';
import { addManual } from '../cli/manual';
import { counted, duration, note, plain, print, printJson, table } from '../cli/output';
import { noteIfUnknown } from '../cli/unknownHandler';
import { DATABASE } from '../cli/variables';
import { loadConfig } from '../config';
import { listWaiting, WAITING_STATES, type WaitingEvent, type WaitingFilter } from '../deliveries/listWaiting';

interface WaitingOptions {
  type?: string;
  handler?: string;
  aggregate?: string;
  state?: WaitingFilter['state'];
  limit: number;
  json?: boolean;
}

export function addWaiting(program: Command): void {
  const verb = program
    .command('waiting')
    .summary('list what is stuck, and why')
    .description(
      'Lists events that are due and not published, and handlers that failed and will be tried again, the longest overdue first, each with its reason and its next try.',
    )
    .option('--type <event type>', 'only events of this type')
    .option('--handler <name>', 'only what waits for this handler')
    .option('--aggregate <id>', 'only events of this aggregate')
    .addOption(new Option('--state <state>', 'only what is in this state').choices(WAITING_STATES))
    .option('--limit <rows>', 'at most so many', positive, 50)
    .option('--json', 'print an array of objects as JSON')
    .action(runWaiting);
  addManual(verb, {
    details: `  pending     due, and not taken by the relay: does a worker run, is it paused?
  deferred    the broker did not take it; REASON says what to mend
  processing  claimed, and not settled yet
  waiting     a handler failed, or must wait; tried again by its delivery run

What is scheduled for later is not listed, and what was given up neither: see \`outbox dead list\`. Bodies are not shown.`,
    environment: DATABASE,
    exits: { 0: 'done, also when nothing waits', 1: 'PostgreSQL is away' },
    examples: [
      ['outbox waiting', 'what is stuck, and why?'],
      ['outbox waiting --handler send-mail', 'for one handler'],
      ['outbox waiting --state deferred', 'what the broker did not take'],
      ["outbox waiting --json | jq -r '.[].reason' | sort | uniq -c", 'the reasons, counted'],
    ],
    seeAlso: ['status', 'show', 'retry', 'skip', 'dead list'],
  });
}

async function runWaiting({ type, handler, aggregate, state, limit, json }: WaitingOptions): Promise<void> {
  // One more tells whether there are more.
  const filter = { eventType: type, handler, aggregateId: aggregate, state, limit: Math.min(limit + 1, 2_147_483_647) };
  const found = await withDatabase(loadConfig(), async (db) => {
    const rows = await listWaiting(db, filter);
    if (rows.length === 0) await noteIfUnknown(db, handler);
    return rows;
  });
  const shown = found.slice(0, limit);
  if (json) printJson(shown);
  else if (shown.length === 0) print('Nothing waits.');
  else print(asTable(shown));
  if (found.length > shown.length) {
    note(`These are the first ${counted(shown.length, 'row')}; there are more: raise --limit, or narrow it.`);
  } else if (!json && shown.length > 0) {
    if (shown.some((row) => row.state === 'pending'))
      note(colors.dim('Pending: `outbox status` says whether the relay is paused, waits for NATS, or has no worker.'));
    note(colors.dim(`${counted(shown.length, 'row')}. All of one: outbox show <event_id>`));
  }
}

function asTable(rows: readonly WaitingEvent[]): string {
  return table(
    ['NEXT TRY', 'EVENT ID', 'TYPE', 'AGGREGATE', 'HANDLER', 'STATE', 'TRIES', 'REASON'],
    rows.map((row) => [
      nextTry(row),
      row.eventId ?? '(none yet)',
      plain(row.eventType),
      plain(`${row.aggregateType}/${row.aggregateId}`),
      row.handler === null ? '(relay)' : plain(row.handler),
      row.state,
      `${row.tries}`,
      plain(row.reason ?? (row.state === 'pending' ? 'not taken by the relay yet' : '')),
    ]),
  );
}

function nextTry({ state, dueInMs, nextAt }: WaitingEvent): string {
  const length = duration(Math.abs(dueInMs));
  if (state === 'processing') return nextAt === null ? 'claimed' : `claimed ${length} ago`;
  return dueInMs > 0 ? `in ${length}` : `${length} overdue`;
}
