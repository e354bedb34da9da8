import type { Command } from 'commander';
import { colors } from '../cli/colors';
import { positive, time, uuid } from '../cli/arguments';
import { withDatabase } from '../cli/database';
import { counted, note, plain, print, printJson, table } from '../cli/output';
import { addManual } from '../cli/manual';
import { noteIfUnknown } from '../cli/unknownHandler';
import { DATABASE } from '../cli/variables';
import { loadConfig } from '../config';
import { listDead, type DeadLetter } from '../deadLetters/list';

interface ListOptions {
  type?: string;
  handler?: string;
  company?: string;
  since?: string;
  limit: number;
  json?: boolean;
}

export function addDead(program: Command): void {
  const dead = program
    .command('dead')
    .summary('list dead letters')
    .description('What the relay gave up, and what handlers gave up.');
  addManual(dead, {
    environment: DATABASE,
    exits: { 0: 'done', 1: 'PostgreSQL is away' },
    examples: [['outbox dead list', 'what was given up?']],
    seeAlso: ['dead list', 'reemit', 'skip'],
  });
  const list = dead
    .command('list')
    .summary('list dead letters, oldest first')
    .description(
      'Lists the events that the relay gave up, and those of which a handler has no attempts left, oldest first, each with its reason. An event that two handlers gave up is listed twice. Bodies are not shown: they stay in the database.',
    )
    .option('--type <event type>', 'only events of this type')
    .option('--handler <name>', 'only what this handler gave up')
    .option('--company <uuid>', 'only events of this tenant', uuid)
    .option('--since <time>', 'only what died at this time or later (ISO 8601, UTC unless it names a zone)', time)
    .option('--limit <rows>', 'at most so many', positive, 100)
    .option('--json', 'print an array of objects as JSON')
    .action(runDeadList);
  addManual(list, {
    environment: DATABASE,
    exits: { 0: 'done, also when there are none', 1: 'PostgreSQL is away' },
    examples: [
      ['outbox dead list', 'what was given up, and why?'],
      ['outbox dead list --type OrderPlaced --since 2026-07-01', 'of one type, lately'],
      ['outbox dead list --handler send-mail', 'of one handler'],
      ["outbox dead list --json | jq -r '.[].eventId' | xargs outbox reemit", 'hand back what is listed'],
    ],
    seeAlso: ['show', 'reemit', 'skip', 'waiting'],
  });
}

async function runDeadList(options: ListOptions): Promise<void> {
  const config = loadConfig();
  const found = await withDatabase(config, async (db) => {
    const letters = await listDead(db.pool, {
      schema: config.schema,
      ...(options.type !== undefined && { eventType: options.type }),
      ...(options.handler !== undefined && { handler: options.handler }),
      ...(options.company !== undefined && { companyId: options.company }),
      ...(options.since !== undefined && { since: options.since }),
      // One more tells whether there are more.
      limit: Math.min(options.limit + 1, 2_147_483_647),
    });
    if (letters.length === 0) await noteIfUnknown(db, options.handler);
    return letters;
  });
  const shown = found.slice(0, options.limit);
  if (options.json) printJson(shown);
  else if (shown.length === 0) print('No dead letters.');
  else print(asTable(shown));
  if (found.length > shown.length) {
    note(
      `These are the oldest ${shown.length}; there are more: raise --limit, or narrow it by --type, --handler, --company, --since.`,
    );
  } else if (!options.json && shown.length > 0) {
    note(colors.dim(`${counted(shown.length, 'dead letter')}. Hand back with: outbox reemit <id…>`));
  }
}

function asTable(letters: readonly DeadLetter[]): string {
  return table(
    ['FAILED AT', 'EVENT ID', 'TYPE', 'AGGREGATE', 'HANDLER', 'REASON'],
    letters.map((letter) => [
      letter.failedAt.toISOString().replace(/\.\d+Z$/, 'Z'),
      letter.eventId,
      plain(letter.eventType),
      plain(`${letter.aggregateType}/${letter.aggregateId}`),
      letter.handler === null ? '(relay)' : plain(letter.handler),
      plain(letter.reason),
    ]),
  );
}
