import type { Runner } from '../ledger/finish';
import type { Keep } from './policy';

export interface Look {
  readonly keep: Keep;
  /** Where the look before this one ended; null begins at the oldest. Belongs to its shelf, which alone can read it. */
  readonly after: string | null;
  /** Rows that are taken at most. */
  readonly rows: number;
}

export interface Found {
  /** Places of rows that may go. A row that is changed meanwhile is at another place, and stays. */
  readonly tids: readonly string[];
  /** Where the next look begins; null: there is nothing more. */
  readonly after: string | null;
  /** The same for when none of these rows could be removed, and the next look would find the very same. */
  readonly beyond: string | null;
}

/**
 * Rows of one table that are removed for one reason. Nothing here waits for a lock, and nothing is ever removed by its
 * age alone: each statement has the conditions of its own, also those that follow another's answer.
 */
export interface Shelf {
  readonly table: 'event_queue' | 'processed_events' | 'deliveries';
  find(run: Runner, look: Look): Promise<Found>;
  /** Those of them that nobody has locked, and that may still go. @returns how many went */
  remove(run: Runner, tids: readonly string[], keep: Keep): Promise<number>;
  /** How many rows may go now. Reads all of the table that is old enough, so for people only. */
  count(run: Runner, keep: Keep): Promise<number>;
}

/**
 * What one removal may weigh: an event of a megabyte is 500 rows of its own behind the scenes, and a batch of thousands of
 * those would meet the statement time-out each time.
 */
export const MOST_BYTES = 8 * 1024 * 1024;

/** Of a table with event types: past its age. $1 is `ages`. What is kept for ever has no age, and compares as unknown. */
export const expired = (time: string) => `${time} < statement_timestamp() - interval '1 millisecond' *
         (CASE WHEN $1::jsonb -> 'byType' ? event_type THEN $1::jsonb -> 'byType' ->> event_type ELSE $1::jsonb ->> 'ms' END)::float8`;

/** The same for any row of whatever type: an index can begin with it. */
export const oldEnough = (time: string) =>
  `${time} < statement_timestamp() - interval '1 millisecond' * ($1::jsonb ->> 'leastMs')::float8`;

/**
 * Somebody waits for the event, or has to decide about it. A scalar, so that it stays a look at one index entry for each
 * row and never becomes a join of everything, whatever the planner believes of the table. The name inside must be nobody's
 * outside: with that of `row` it would compare a delivery with itself, and any that waits would keep all.
 */
export const nobodyWaits = (row: string) =>
  `(SELECT true FROM :schema.deliveries other WHERE other.event_id = ${row}.event_id AND other.state <> 'skipped' LIMIT 1) IS NOT TRUE`;

/** The value of $1. */
export function ages({ ms, byType }: Keep): string {
  const all = [ms, ...Object.values(byType)].filter((age) => age !== null);
  return JSON.stringify({ ms, byType, leastMs: all.length > 0 ? Math.min(...all) : null });
}

export interface Statements {
  /** $1 `ages`, $2 `after`, $3 `rows`. @returns one row, as `Found` has it */
  readonly find: string;
  /**
   * $1 `ages`, $2 places. Given, what it locked is removed by a statement of its own, which sees all that was committed
   * until then; $1 are the places then.
   */
  readonly lock?: string;
  /** $1 `ages`, $2 places. */
  readonly remove: string;
  /** $1 `ages`. */
  readonly count: string;
}

export function shelfOver(table: Shelf['table'], { find, lock, remove, count }: Statements): Shelf {
  return {
    table,
    async find(run, { keep, after, rows }) {
      const found = await run<{ [name in keyof Found]: Found[name] }>(find, [ages(keep), after, rows]);
      return found.rows[0] ?? { tids: [], after: null, beyond: null };
    },
    async remove(run, tids, keep) {
      if (lock === undefined) return (await run(remove, [ages(keep), tids])).rowCount ?? 0;
      const locked = await run<{ tid: string }>(lock, [ages(keep), tids]);
      return (await run(remove, [locked.rows.map(({ tid }) => tid)])).rowCount ?? 0;
    },
    async count(run, keep) {
      return (await run<{ count: number }>(count, [ages(keep)])).rows[0]?.count ?? 0;
    },
  };
}
