/**
 * Records real histories of the workflows into `test/replay/<version>/<workflow>-<situation>.json`, which
 * `test/replay/relay.test.ts` replays against the current workflow code for as long as runs of that version may be open.
 * Run it at a release, with the new version in package.json, and when a workflow has learnt something; those of older
 * versions stay as they are. With names, only those workflows:
 *
 *     npm run record-histories [-- relay deliver consumer maintenance]
 *
 * It starts servers of its own and stops them. Host name and process id are replaced before anything reads them.
 */
import '../test/replay/neutralHost';
import { version } from '../package.json';
import { consumerRecorders } from '../test/replay/recordConsumer';
import { deliveryRecorders } from '../test/replay/recordDeliveries';
import { maintenanceRecorders } from '../test/replay/recordMaintenance';
import { relayRecorders } from '../test/replay/recordRelay';
import { Recording, type Recorder } from '../test/replay/recording';
import globalSetup from '../test/support/globalSetup';
import globalTeardown from '../test/support/globalTeardown';

const RECORDERS: Readonly<Record<string, readonly Recorder[]>> = {
  relay: relayRecorders,
  deliver: deliveryRecorders,
  consumer: consumerRecorders,
  maintenance: maintenanceRecorders,
};

async function main(): Promise<void> {
  const names = process.argv.slice(2);
  const unknown = names.filter((name) => !(name in RECORDERS));
  if (unknown.length > 0)
    throw new Error(`unknown: ${unknown.join(', ')}; known: ${Object.keys(RECORDERS).join(', ')}`);
  await globalSetup();
  try {
    const recording = new Recording(`test/replay/${version}`);
    for (const [name, recorders] of Object.entries(RECORDERS))
      if (names.length === 0 || names.includes(name)) for (const record of recorders) await record(recording);
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
