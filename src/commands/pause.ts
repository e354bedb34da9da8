import type { Command } from 'commander';
import { connectRelay } from '../cli/relay';
import { print, printJson } from '../cli/output';
import { addManual } from '../cli/manual';
import { TEMPORAL } from '../cli/variables';
import { loadConfig } from '../config';
import { pauseUpdate } from '../workflows/messages';

/** A claim that is open settles within seconds; a step that waits for PostgreSQL takes longer, and is worth knowing of. */
const TIMEOUT_MS = 30_000;

export function addPause(program: Command): void {
  const verb = program
    .command('pause')
    .summary('publish nothing until resume')
    .description(
      'Pauses the relay, and returns when nothing is being published any more. Events wait in the outbox; applications go on writing them. The pause outlives workers: only `outbox resume` ends it.',
    )
    .option('--json', 'print the result as JSON')
    .action(runPause);
  addManual(verb, {
    details:
      'Only the relay stops. Delivery runs go on with their retries, and with backend nats the consumer goes on giving handlers what the stream holds. To stop that too: temporal workflow signal --workflow-id outbox-consumer --name pause (and --name resume). `outbox drain` publishes all the same.',
    environment: [...TEMPORAL, 'OUTBOX_SCHEMA'],
    exits: {
      0: 'nothing is being published, or it was paused already',
      1: 'Temporal is away, no relay runs, or it did not answer within 30 s',
    },
    examples: [['outbox pause && outbox status', 'stop publishing, and see what is left to do']],
    seeAlso: ['resume', 'status'],
  });
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
