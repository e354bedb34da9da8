import { createWorker, RelayMismatchError } from 'temporal-outbox';
import { MovieDiscovered } from './movieDiscovered';
import { posterService } from './posterService';
import { searchIndex } from './searchIndex';

/** The worker with this application's handlers, as a process of its own. Its settings come from the environment. */
async function main(): Promise<void> {
  try {
    await createWorker({ handlers: [searchIndex, posterService], events: [MovieDiscovered] }).run();
  } catch (error) {
    const hint =
      error instanceof RelayMismatchError ? ' Or start over with --fresh, or give each its own --directory.' : '';
    console.error(`${(error as Error).message}${hint}`);
    process.exitCode = 1;
  }
}

void main();
