import type { Command } from 'commander';
import { connectRelay } from '../cli/relay';
import { print, printJson } from '../cli/output';
import { loadConfig } from '../config';
import { pauseUpdate } from '../workflows/messages';

/** A claim that is open settles within seconds; a step that waits for PostgreSQL takes longer, and is worth knowing of. */
const TIMEOUT_MS = 30_000;

export function addPause(program: Command): void {
  program
    .command('pause')
    .summary('publish nothing until resume')
    .description(
      'Pauses the relay, and returns when nothing is being published any more. Events wait in the outbox; applications go on writing them. The pause outlives workers: only `outbox resume` ends it.',
    )
    .option('--json', 'print the result as JSON')
    .action(runPause);
}

async function runPause(options: { json?: boolean }): Promise<void> {
  const relay = await connectRelay(loadConfig());
  try {
    const { changed } = await relay.ask(TIMEOUT_MS, (handle) => handle.executeUpdate(pauseUpdate));
    if (options.json) printJson({ paused: true, changed });
    else print(changed ? 'Paused: nothing is published until `outbox resume`.' : 'It was paused already.');
  } finally {
    await relay.close();
  }
}
