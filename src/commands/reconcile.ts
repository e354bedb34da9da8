import type { Command } from 'commander';
import { positive, time } from '../cli/arguments';
import { withDatabase } from '../cli/database';
import { CommandFailure, EXIT, sentenceOf } from '../cli/failure';
import { counted, note, print, printJson } from '../cli/output';
import { progressCount } from '../cli/progressCount';
import { renderReconciliation } from '../cli/reconcilePage';
import { addManual } from '../cli/manual';
import { DATABASE, NATS } from '../cli/variables';
import { loadConfig } from '../config';
import { handOverUnhandled } from '../deliveries/handOverUnhandled';
import type { ReconcileOptions } from '../reconcile/reconcile';
import type { Reconciliation } from '../reconcile/result';

interface ReconcileVerbOptions {
  since?: string;
  limit: number;
  mend?: boolean;
  progress: boolean;
  json?: boolean;
}

export function addReconcile(program: Command): void {
  const verb = program
    .command('reconcile')
    .summary('compare outbox, stream and handlers by event id')
    .description(
      'Compares the outbox, the stream (backend nats) and what handlers did, event by event, and names each that is lost, doubled or unhandled. Only reads (but for --mend), and may run at any time: what comes in meanwhile is not looked at. Reads the whole outbox and the headers of the whole stream.',
    )
    .option(
      '--since <time>',
      'only events that became due at this time or later (ISO 8601, UTC unless it names a zone); what is under way or dead is counted all the same',
      time,
    )
    .option('--limit <ids>', 'show at most so many ids of each class', positive, 20)
    .option('--mend', 'have what is unhandled handled: the ids that are shown, of events that stand in the outbox')
    .option('--no-progress', 'no count while it reads (there is one on a terminal only)')
    .option('--json', 'print the result as a JSON object')
    .action(runReconcile);
  addManual(verb, {
    details: `  lost       the outbox calls it published, and the stream should hold it
             and does not
  doubled    a further copy of it stands in the stream
  unhandled  a recorded handler of its type has neither done it, nor will
             try it again, nor gave it up, nor was told to skip it

With --mend, what is unhandled gets a delivery that waits, as if its handler had to be tried again, and a delivery run within the next sweep of a worker. The ledger keeps an effect that is there after all from being made twice. Lost and doubled events stay as they are: the first are published again by nobody, and the second were sent.`,
    environment: [...DATABASE, 'EVENT_BUS_BACKEND', ...NATS, 'OUTBOX_LEDGER_RETENTION_MS'],
    exits: {
      0: 'everything agrees',
      1: 'there are faults, or were before --mend handed them over',
      3: 'no faults so far, but events are under way or dead: run it again when they are settled',
      4: 'it could not compare; the reason is on stderr',
    },
    examples: [
      ['outbox reconcile', 'is anything lost, doubled or unhandled?'],
      ['outbox reconcile --since 2026-07-01T08:30:00Z --limit 100', 'after an incident'],
      ["outbox reconcile --json | jq -r '.unhandled.shown[].eventId'", 'ids for a program'],
      ['outbox reconcile --mend --limit 1000', 'have the first 1,000 that are unhandled handled'],
    ],
    seeAlso: ['show', 'dead list', 'status'],
  });
}

async function runReconcile({ since, limit, mend, progress, json }: ReconcileVerbOptions): Promise<void> {
  const count = progressCount(progress);
  const onProgress: ReconcileOptions['onProgress'] = ({ messages, events }) =>
    count.update(`${counted(messages, 'message')} and ${counted(events, 'event')} compared`);
  const found = await compared({ limit, onProgress, ...(since !== undefined && { since }) }).finally(count.stop);
  const mended = mend ? await mendShown(found) : undefined;
  if (json) printJson(mended === undefined ? found : { ...found, mended });
  else print(renderReconciliation(found));
  if (mended !== undefined && !json)
    note(
      `Handed ${counted(mended, 'handling')} over: they are tried within seconds of the next sweep of a worker. Run it again then.`,
    );
  switch (found.verdict) {
    case 'agrees':
      if (!json) note('Everything agrees.');
      return;
    case 'faults':
      throw new CommandFailure(`${faults(found)}. Look at one with \`outbox show <event_id>\`.`);
    case 'not settled':
      throw new CommandFailure(`No faults, but not settled yet: ${openOf(found)}.`, EXIT.notSettled);
  }
}

async function mendShown(found: Reconciliation): Promise<number> {
  const config = loadConfig();
  return withDatabase(config, (db) => handOverUnhandled(db, found.unhandled.shown));
}

/** A script must be able to tell faults from a comparison that never was. */
async function compared(options: ReconcileOptions): Promise<Reconciliation> {
  try {
    const config = loadConfig();
    // Loaded here, since it brings the NATS client along, which other verbs do not need.
    const { compare } = await import('../reconcile/reconcile.js');
    return await withDatabase(config, (db) => compare(db, config, options));
  } catch (error) {
    throw new CommandFailure(sentenceOf(error), EXIT.notCompared, { cause: error });
  }
}

function faults({ lost, doubled, unhandled }: Reconciliation): string {
  const parts = [
    lost.count > 0 && `${counted(lost.count, 'event')} lost`,
    doubled.count > 0 && `${counted(doubled.count, 'copy').replace('copys', 'copies')} too many`,
    unhandled.count > 0 && `${counted(unhandled.count, 'handling')} missing`,
  ];
  return parts.filter(Boolean).join(', ');
}

function openOf({ dead, underWay }: Reconciliation): string {
  const { scheduled: _, ...open } = underWay;
  const rest = Object.values(open).reduce((sum, count) => sum + count, 0);
  const parts = [
    rest > 0 && `${rest.toLocaleString('en-US')} under way, so run it again`,
    dead.count > 0 &&
      `${counted(dead.count, 'dead letter')}, to be handed back with \`outbox reemit <id…>\` or given up with \`outbox skip\``,
  ];
  return parts.filter(Boolean).join('; ');
}
