/**
 * Records real histories of the relay into `test/replay/relay-<n>.json`, which `test/replay/relay.test.ts` replays
 * against the current workflow code. Run it by hand, and only when a change of the workflow is meant to break running
 * relays, or when there is something new to record:
 *
 *     npm run setup && npx tsx scripts/record-history.ts
 *
 * It starts servers of its own and stops them. Host name and process id are replaced before anything reads them.
 */
import '../test/replay/neutralHost';
import globalSetup from '../test/support/globalSetup';
import globalTeardown from '../test/support/globalTeardown';
import { recordAwayBroker, recordBusyRelay, recordLostWorker } from '../test/replay/record';

async function main(): Promise<void> {
  await globalSetup();
  try {
    await recordBusyRelay('test/replay/relay-1.json');
    await recordAwayBroker('test/replay/relay-2.json');
    await recordLostWorker('test/replay/relay-3.json');
  } finally {
    await globalTeardown();
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
