import type { Command } from 'commander';
import { withDatabase } from '../cli/database';
import { CommandFailure, wrongUse } from '../cli/failure';
import { counted, note, print, printJson } from '../cli/output';
import { addManual } from '../cli/manual';
import { DATABASE } from '../cli/variables';
import { loadConfig } from '../config';
import { forgetHandler } from '../deliveries/forgetHandler';
import { settleRow } from '../deliveries/settleRow';

/** Rows settled by one statement. */
const CHUNK = 1_000;

export function addForget(program: Command): void {
  const verb = program
    .command('forget')
    .summary('take a removed handler out of the recorded ones')
    .description(
      'For a handler that no worker has any more: events are finished without it, and what waits for it is skipped. Its dead letters stay. A worker that still has the handler records it again when it starts.',
    )
    .argument('<handler>', 'its name, as `outbox handlers` lists it')
    .option('--yes', 'needed: events that wait for it never reach it')
    .option('--json', 'print the result as JSON')
    .action(runForget);
  addManual(verb, {
    environment: DATABASE,
    exits: { 0: 'it is forgotten', 1: 'there is no such handler, or PostgreSQL is away' },
    examples: [['outbox forget send-mail --yes', 'no worker has send-mail any more']],
    seeAlso: ['handlers', 'skip', 'dead list'],
  });
}

async function runForget(handler: string, options: { yes?: boolean; json?: boolean }): Promise<void> {
  if (!options.yes) throw wrongUse(`What waits for ${handler} will be skipped: say --yes if that is meant.`);
  const config = loadConfig();
  const { removed, skipped, dead } = await withDatabase(config, async (db) => {
    const forgotten = await forgetHandler(db, handler);
    for (let at = 0; at < forgotten.eventIds.length; at += CHUNK) {
      await settleRow(db, forgotten.eventIds.slice(at, at + CHUNK));
    }
    return forgotten;
  });
  if (options.json) printJson({ handler, removed, skipped, dead });
  else if (removed || skipped > 0) {
    print(`Forgot ${handler}. Skipped ${skipped.toLocaleString('en-US')} of its deliveries.`);
  }
  if (dead > 0) note(`${counted(dead, 'dead letter')} of it stay: see \`outbox dead list --handler ${handler}\`.`);
  if (!removed && skipped === 0) {
    throw new CommandFailure(`No handler ${handler} is recorded, and nothing waits for one: see \`outbox handlers\`.`);
  }
}
