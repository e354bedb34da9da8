import { createWorker } from 'temporal-outbox';
import { EVENTS } from './events';
import { createHandlers } from './handlers/createHandlers';
import { openAdapters } from './openAdapters';
import { readWorkerSettings } from './settings';

/** The worker with this application's handlers, as a process of its own. */
async function main(): Promise<void> {
  const adapters = openAdapters(readWorkerSettings(process.env));
  try {
    await createWorker({ handlers: createHandlers(adapters), events: EVENTS }).run();
  } finally {
    await adapters.close();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`The worker could not start: ${(error as Error).message}\n`);
  process.exitCode = 1;
});
