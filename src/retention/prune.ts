import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../postgres/database';
import { putAway, readLines, requireArchive, type Archive } from './archive';
import { deadDeliveryShelf, skippedShelf } from './deliveryShelf';
import { deadRowShelf } from './deadRowShelf';
import { doneShelf } from './doneShelf';
import { ledgerShelf } from './ledgerShelf';
import { Pace } from './pace';
import { isKeptForEver, type Keep, type Kind } from './policy';
import type { Shelf } from './shelf';
import { inShortTransaction } from './transaction';

/** A row of `event_queue` goes behind its dead deliveries, in the same run. */
const SHELVES: Readonly<Record<Kind, readonly Shelf[]>> = {
  ledger: [ledgerShelf],
  done: [doneShelf],
  skipped: [skippedShelf],
  dead: [deadDeliveryShelf, deadRowShelf],
};

/** Where a part of a run ended; what it says is known to `prune` alone. */
export interface PrunePlace {
  readonly shelf: number;
  readonly after: string | null;
}

export interface PruneOptions {
  readonly archive?: Archive | undefined;
  /** Where the part before this one ended. */
  readonly from?: PrunePlace | undefined;
  /** Ends with the batch that is under way then; the rest is left to the next part. */
  readonly signal?: AbortSignal | undefined;
  /** Told after each batch. @param removed since the beginning of this part */
  readonly onProgress?: (removed: number) => void;
}

export interface Pruned {
  readonly removed: number;
  /** Where to go on; null: nothing is left. */
  readonly rest: PrunePlace | null;
  /** The longest batch in the database, in milliseconds. */
  readonly longestMs: number;
}

/**
 * Removes what is past its age, in small batches with pauses between them: no statement comes near a time-out, and whoever
 * claims beside it is not held up. Any number of these may run at once; what one has locked is left to it.
 *
 * @throws ArchiveError when the archive failed, or should be there and is not; what `pg` throws. What was removed until
 *   then stays removed
 */
export async function prune(db: Database, kind: Kind, keep: Keep, options: PruneOptions = {}): Promise<Pruned> {
  await requireArchive(db, options.archive);
  const pace = new Pace();
  let removed = 0;
  const shelves = isKeptForEver(keep) ? [] : SHELVES[kind];
  for (let at = options.from?.shelf ?? 0; at < shelves.length; at++) {
    const shelf = shelves[at] as Shelf;
    let after = at === options.from?.shelf ? options.from.after : null;
    for (;;) {
      if (options.signal?.aborted) return { removed, rest: { shelf: at, after }, longestMs: pace.longestMs };
      const batch = await pace.measured((rows) => removeBatch(db, shelf, { keep, after, rows }, options));
      if (!batch || batch.isLeft) continue;
      removed += batch.removed;
      options.onProgress?.(removed);
      after = batch.after;
      if (after === null) break;
      await sleep(pace.pauseMs, undefined, { signal: options.signal }).catch(() => undefined);
    }
  }
  return { removed, rest: null, longestMs: pace.longestMs };
}

/** How many rows may go now. Reads all that is old enough, without a time-out. */
export async function countPrunable(db: Database, kind: Kind, keep: Keep): Promise<number> {
  if (isKeptForEver(keep)) return 0;
  let count = 0;
  for (const shelf of SHELVES[kind]) count += await shelf.count((text, values) => db.query(text, values), keep);
  return count;
}

/** @returns whether it has ended; false once the signal has fired, and what becomes of it then is nobody's any more */
async function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<boolean> {
  if (!signal) return work.then(() => true);
  work.catch(() => undefined);
  let give: () => void = () => undefined;
  const aborted = new Promise<boolean>((resolve) => {
    give = () => resolve(false);
    signal.addEventListener('abort', give, { once: true });
    if (signal.aborted) give();
  });
  return Promise.race([work.then(() => true), aborted]).finally(() => signal.removeEventListener('abort', give));
}

/** One look and one removal. Between the two no connection is held, for as long as an archive may take. */
async function removeBatch(
  db: Database,
  shelf: Shelf,
  look: { keep: Keep; after: string | null; rows: number },
  { archive, signal }: PruneOptions,
): Promise<{ removed: number; after: string | null; archivedMs: number; isLeft: boolean }> {
  const { found, lines } = await inShortTransaction(db, async (run) => {
    const found = await shelf.find(run, look);
    return { found, lines: archive ? await readLines(run, shelf.table, found.tids) : [] };
  });
  let archivedMs = 0;
  if (archive) {
    const begun = performance.now();
    // Nothing has gone yet, and what the archive has it may be given again: a stop need not wait for one that hangs.
    const isPutAway = await unlessAborted(putAway(archive, { table: shelf.table, rows: lines }), signal);
    if (!isPutAway) return { removed: 0, after: look.after, archivedMs: 0, isLeft: true };
    archivedMs = performance.now() - begun;
  }
  const removed =
    found.tids.length === 0 ? 0 : await inShortTransaction(db, (run) => shelf.remove(run, found.tids, look.keep));
  // Rows of one and the same moment, none of which could be removed: the next look would find the very same.
  const stuck = removed === 0 && found.after !== null && found.after === look.after;
  return { removed, after: stuck ? found.beyond : found.after, archivedMs, isLeft: false };
}
