import type { Command } from 'commander';
import { connectRelay } from '../cli/relay';
import { print, printJson } from '../cli/output';
import { addManual } from '../cli/manual';
import { TEMPORAL } from '../cli/variables';
import { loadConfig } from '../config';
import { resumeUpdate } from '../workflows/messages';

const TIMEOUT_MS = 15_000;

export function addResume(program: Command): void {
  const verb = program
    .command('resume')
    .summary('go on after a pause')
    .description('Ends a pause of the relay. What gathered in the outbox meanwhile is published at once, in its order.')
    .option('--json', 'print the result as JSON')
    .action(runResume);
  addManual(verb, {
    details: 'Ends the pause of the relay only: a consumer that was paused is resumed by its own signal.',
    environment: [...TEMPORAL, 'OUTBOX_SCHEMA'],
    exits: {
      0: 'it goes on, or was not paused',
      1: 'Temporal is away, no relay runs, or it did not answer within 15 s',
    },
    examples: [['outbox resume && outbox status --watch', 'go on, and watch the backlog go down']],
    seeAlso: ['pause', 'status'],
  });
}

async function runResume(options: { json?: boolean }): Promise<void> {
  const relay = await connectRelay(loadConfig());
  try {
    const { changed } = await relay.ask(TIMEOUT_MS, (handle) => handle.executeUpdate(resumeUpdate));
    if (options.json) printJson({ paused: false, changed });
    else print(changed ? 'Resumed.' : 'It was not paused.');
  } finally {
    await relay.close();
  }
}
