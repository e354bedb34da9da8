import type { Command } from 'commander';
import { connectRelay } from '../cli/relay';
import { print, printJson } from '../cli/output';
import { loadConfig } from '../config';
import { resumeUpdate } from '../workflows/messages';

const TIMEOUT_MS = 15_000;

export function addResume(program: Command): void {
  program
    .command('resume')
    .summary('go on after a pause')
    .description('Ends a pause of the relay. What gathered in the outbox meanwhile is published at once, in its order.')
    .option('--json', 'print the result as JSON')
    .action(runResume);
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
