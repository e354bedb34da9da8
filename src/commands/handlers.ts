import type { Command } from 'commander';
import { withDatabase } from '../cli/database';
import { plain, print, printJson, table } from '../cli/output';
import { loadConfig } from '../config';
import { countByHandler } from '../deliveries/handlerCounts';

export function addHandlers(program: Command): void {
  program
    .command('handlers')
    .summary('list the recorded handlers')
    .description(
      'Lists the handlers that workers have recorded, with the types of events that each takes, and how many of its deliveries wait or are dead. An event is finished when all recorded handlers of its type are done.',
    )
    .option('--json', 'print an array of objects as JSON')
    .action(runHandlers);
}

async function runHandlers(options: { json?: boolean }): Promise<void> {
  const handlers = await withDatabase(loadConfig(), countByHandler);
  if (options.json) return printJson(handlers);
  if (handlers.length === 0)
    return print('No handlers are recorded: a worker that has some records them at its start.');
  print(
    table(
      ['HANDLER', 'WAITING', 'DEAD', 'EVENTS'],
      handlers.map(({ handler, recorded, waiting, dead, events }) => [
        plain(handler),
        waiting.toLocaleString('en-US'),
        dead.toLocaleString('en-US'),
        recorded ? plain(events.join(', ')) : '(not recorded any more)',
      ]),
    ),
  );
}
