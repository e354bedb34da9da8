import type { Command } from 'commander';
import { withDatabase } from '../cli/database';
import { plain, print, printJson, table } from '../cli/output';
import { addManual } from '../cli/manual';
import { DATABASE } from '../cli/variables';
import { loadConfig } from '../config';
import { countByHandler } from '../deliveries/handlerCounts';

export function addHandlers(program: Command): void {
  const verb = program
    .command('handlers')
    .summary('list the recorded handlers')
    .description(
      'Lists the handlers that workers have recorded, with the types of events that each takes, and how many of its deliveries wait, are dead or were skipped. An event is finished when all recorded handlers of its type are done.',
    )
    .option('--json', 'print an array of objects as JSON')
    .action(runHandlers);
  addManual(verb, {
    environment: DATABASE,
    exits: { 0: 'done', 1: 'PostgreSQL is away' },
    examples: [
      ['outbox handlers', 'who takes what, and what of it is open'],
      ["outbox handlers --json | jq -r '.[] | select(.dead > 0).handler'", 'handlers with dead letters'],
    ],
    seeAlso: ['waiting', 'dead list', 'forget'],
  });
}

async function runHandlers(options: { json?: boolean }): Promise<void> {
  const handlers = await withDatabase(loadConfig(), countByHandler);
  if (options.json) return printJson(handlers);
  if (handlers.length === 0)
    return print('No handlers are recorded: a worker that has some records them at its start.');
  print(
    table(
      ['HANDLER', 'WAITING', 'DEAD', 'SKIPPED', 'EVENTS'],
      handlers.map(({ handler, recorded, waiting, dead, skipped, events }) => [
        plain(handler),
        waiting.toLocaleString('en-US'),
        dead.toLocaleString('en-US'),
        skipped.toLocaleString('en-US'),
        recorded ? plain(events.join(', ')) : '(not recorded any more)',
      ]),
    ),
  );
}
