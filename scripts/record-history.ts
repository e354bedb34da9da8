/**
 * Records real histories of the workflows into `test/replay/<workflow>-<n>.json`, which `test/replay/relay.test.ts`
 * replays against the current workflow code. Run it by hand, and only when a change of a workflow is meant to break runs
 * that are open, or when there is something new to record; with names, only those:
 *
 *     npm run setup && npx tsx scripts/record-history.ts [relay] [deliver] [consumer]
 *
 * It starts servers of its own and stops them. Host name and process id are replaced before anything reads them.
 */
import '../test/replay/neutralHost';
import globalSetup from '../test/support/globalSetup';
import globalTeardown from '../test/support/globalTeardown';
import { recordAwayBroker, recordBusyRelay, recordLostWorker } from '../test/replay/record';
import { recordConsumer, recordDeliveries, recordRolledOverDelivery } from '../test/replay/recordHandling';

async function main(): Promise<void> {
  await globalSetup();
  try {
    const wanted = (name: string) => process.argv.length < 3 || process.argv.includes(name);
    if (wanted('relay')) {
      await recordBusyRelay('test/replay/relay-1.json');
      await recordAwayBroker('test/replay/relay-2.json');
      await recordLostWorker('test/replay/relay-3.json');
    }
    if (wanted('deliver')) {
      await recordDeliveries('test/replay/deliver-1.json', 'test/replay/deliver-2.json');
      await recordRolledOverDelivery('test/replay/deliver-3.json');
    }
    if (wanted('consumer')) await recordConsumer('test/replay/consumer-1.json');
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
