import type { Command } from 'commander';
import { age, kinds } from '../cli/arguments';
import { withDatabase } from '../cli/database';
import { CommandFailure, wrongUse } from '../cli/failure';
import { addManual } from '../cli/manual';
import { counted, duration, note, print, printJson, table } from '../cli/output';
import { pruneBar } from '../cli/pruneBar';
import { stopSignal } from '../cli/stopSignal';
import { STUCK_MS, unlessStuck } from '../cli/unlessStuck';
import { DATABASE } from '../cli/variables';
import { loadConfig, type Config } from '../config';
import { bounded } from '../postgres/bounded';
import type { Database } from '../postgres/database';
import { recordArchive, type Archive } from '../retention/archive';
import { loadArchive } from '../retention/loadArchive';
import { KINDS, policyOf, type Keep, type Kind } from '../retention/policy';
import { countPrunable, prune } from '../retention/prune';
import { STATEMENT_TIMEOUT_MS } from '../retention/transaction';

interface PruneVerbOptions {
  only?: Kind[];
  olderThan?: number;
  type?: string;
  dryRun?: boolean;
  yes?: boolean;
  archive?: string;
  forgetArchive?: boolean;
  json?: boolean;
}

/** What one kind came to. */
interface Line {
  readonly kind: Kind;
  /** Null: kept for ever. */
  readonly olderThanMs: number | null;
  readonly rows: number;
}

export function addPrune(program: Command): void {
  const verb = program
    .command('prune')
    .summary('remove old rows now, as the schedule does')
    .description(
      'Removes what is past its retention: the same work, in the same small batches and under the same conditions, as the schedule `outbox-maintenance` does each hour. Needs PostgreSQL only, may run beside workers and beside itself, and may be ended at any time. Nothing that waits for a handler ever goes.',
    )
    .option('--only <kinds>', `comma-separated: ${KINDS.join(', ')}; default: what the settings let go`, kinds)
    .option(
      '--older-than <age>',
      'another age than that of the settings, such as 14d or 12h; needs --only, and leaves types with an age of their own alone',
      age,
    )
    .option('--type <type>', 'only events of this type; not for the ledger, which knows no types')
    .option('--dry-run', 'count what would go, and remove nothing')
    .option('--yes', 'needed to remove dead letters or skipped deliveries by --older-than')
    .option('--archive <module>', 'a module that exports `archive`, which is given the rows first')
    .option('--forget-archive', 'from now on rows go without an archive, until a worker brings one')
    .option('--json', 'print the result as a JSON object')
    .action(runPrune);
  addManual(verb, {
    details: DETAILS,
    environment: [
      ...DATABASE,
      'OUTBOX_LEDGER_RETENTION_MS',
      'OUTBOX_DONE_RETENTION_MS',
      'OUTBOX_RETENTION_OVERRIDES',
      'OUTBOX_SKIPPED_RETENTION_MS',
      'OUTBOX_DEAD_RETENTION_MS',
    ],
    exits: { 0: 'what is past its age is gone', 1: 'not everything is gone, and why' },
    examples: [
      ['outbox prune --dry-run', 'what would go'],
      ['outbox prune', 'remove it now'],
      ['outbox prune --only done --type Clicked --older-than 1d', 'of one event type, sooner than else'],
      ['outbox prune --only dead --older-than 365d --yes', 'dead letters that nobody will look at any more'],
    ],
    seeAlso: ['status', 'dead list', 'skip', 'config'],
  });
}

const DETAILS = `\
  ledger   handlings that are done. No younger ones than its setting says: a
           redelivery would be handled a second time
  done     events that are done
  skipped  deliveries that an operator skipped
  dead     dead letters`;

async function runPrune(options: PruneVerbOptions): Promise<void> {
  const config = loadConfig();
  const wanted = wantedOf(options, config);
  const archive = options.archive === undefined ? undefined : await loadArchive(options.archive);
  const stop = stopSignal(() => note('Ending with the batch that is under way.'));
  const pruneAll = async (db: Database) => {
    if (options.forgetArchive && !options.dryRun) await recordArchive(db, false);
    const begun = performance.now();
    const lines: Line[] = [];
    for (const [kind, keep] of wanted) lines.push(await pruneKind(db, kind, keep, { ...options, archive, stop }));
    report(lines, options, performance.now() - begun);
    if (stop.aborted) throw new CommandFailure('Ended before everything was removed: run it again for the rest.');
  };
  await withDatabase(config, (db) =>
    unlessStuck(
      pruneAll(db),
      stop,
      STUCK_MS + BATCH_MS,
      () =>
        new CommandFailure(
          'Interrupted, and PostgreSQL does not answer: what was removed until then stays removed. Run it again for the rest.',
        ),
    ),
  );
}

/** The longest that the batch under way may take: its look, the lines for an archive, the locks, and the removal. */
const BATCH_MS = 4 * STATEMENT_TIMEOUT_MS;

/** A person waits for the bar. */
const COUNT_MS = 2_000;

async function pruneKind(
  db: Database,
  kind: Kind,
  keep: Keep,
  options: { dryRun?: boolean; json?: boolean; archive: Archive | undefined; stop: AbortSignal },
): Promise<Line> {
  const line = (rows: number) => ({ kind, olderThanMs: keep.ms, rows });
  if (options.stop.aborted) return line(0);
  if (options.dryRun) return line(await countPrunable(db, kind, keep));
  const bar = pruneBar(process.stderr.isTTY && !options.json, kind);
  try {
    // A large table may take long to count, and can be pruned all the same; what counts cannot be interrupted.
    if (bar.shown) bar.begin(await bounded(db, COUNT_MS, (reader) => countPrunable(reader, kind, keep)).catch(() => 0));
    const { removed } = await prune(db, kind, keep, {
      archive: options.archive,
      signal: options.stop,
      onProgress: (rows) => bar.update(rows),
    });
    return line(removed);
  } finally {
    bar.stop();
  }
}

/** @throws CommandFailure for what the schedule would never do, or what must be meant */
function wantedOf({ only, olderThan, type, dryRun, yes }: PruneVerbOptions, config: Config): [Kind, Keep][] {
  if (olderThan !== undefined && !only) throw wrongUse('Say what --older-than is about: --only done, for example.');
  if (type !== undefined && (!only || only.includes('ledger')))
    throw wrongUse('--type needs --only done, skipped or dead: the ledger knows no types.');
  if (only?.includes('ledger') && olderThan !== undefined && olderThan < config.handling.retentionMs) {
    throw wrongUse(
      `The ledger must remember ${duration(config.handling.retentionMs)} (OUTBOX_LEDGER_RETENTION_MS): what it forgets is handled again when it comes again.`,
    );
  }
  const forPeople = (only ?? []).filter((kind) => kind === 'dead' || kind === 'skipped');
  if (olderThan !== undefined && forPeople.length > 0 && !yes && !dryRun)
    throw wrongUse(`This removes what waits for a decision (${forPeople.join(', ')}): say --yes if that is meant.`);
  const policy = policyOf(config);
  return (only ?? KINDS).map((kind) => [kind, narrowed(policy[kind], olderThan, type)]);
}

function narrowed(keep: Keep, olderThan: number | undefined, type: string | undefined): Keep {
  const ofType = type !== undefined && Object.hasOwn(keep.byType, type) ? (keep.byType[type] ?? null) : keep.ms;
  if (type !== undefined) return { ms: null, byType: { [type]: olderThan ?? ofType } };
  // A type that has an age of its own has it for a reason: only --type goes past it.
  return olderThan === undefined ? keep : { ms: olderThan, byType: keep.byType };
}

function report(lines: readonly Line[], { dryRun, json }: PruneVerbOptions, tookMs: number): void {
  const rows = lines.reduce((sum, line) => sum + line.rows, 0);
  if (json) {
    printJson({ dryRun: dryRun ?? false, removed: Object.fromEntries(lines.map((line) => [line.kind, line.rows])) });
    return;
  }
  print(
    table(
      ['WHAT', 'OLDER THAN', dryRun ? 'WOULD GO' : 'REMOVED'],
      lines.map(({ kind, olderThanMs, rows: count }) => [
        kind,
        olderThanMs === null ? 'by type, or never' : duration(olderThanMs),
        count.toLocaleString('en-US'),
      ]),
    ),
  );
  note(dryRun ? `${counted(rows, 'row')} would go.` : `Removed ${counted(rows, 'row')} in ${duration(tookMs)}.`);
}
