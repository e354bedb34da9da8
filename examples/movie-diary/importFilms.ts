import type { Pool } from 'pg';
import { storeFilms } from './catalogue';
import type { Film } from './movieDiscovered';
import { seeded } from './seeded';

export interface Imported {
  readonly transactions: number;
  /** Ids of committed events: each must be handled, and in the stream, once. */
  readonly committed: ReadonlySet<string>;
  /** Ids of events whose transaction rolled back: none may ever be in the stream, or reach a handler. */
  readonly rolledBack: ReadonlySet<string>;
}

const SEED = 20_260_101;
const LARGEST_TRANSACTION = 120;
/** One transaction in so many rolls back, and is then tried again, as an application would. */
const ROLL_BACK_ONE_IN = 12;

/** Stores all films in transactions of mixed sizes, the same ones in each run. */
export async function importFilms(
  pool: Pool,
  films: readonly Film[],
  signal: AbortSignal,
  onProgress: (stored: number) => void,
): Promise<Imported> {
  const random = seeded(SEED);
  const committed = new Set<string>();
  const rolledBack = new Set<string>();
  let transactions = 0;
  for (let at = 0; at < films.length;) {
    signal.throwIfAborted();
    // Mostly small, some large: what a real application's transactions look like.
    const size = 1 + Math.floor(random() ** 3 * LARGEST_TRANSACTION);
    const part = films.slice(at, at + size);
    if (random() < 1 / ROLL_BACK_ONE_IN) {
      for (const id of await storeFilms(pool, part, true)) rolledBack.add(id);
      transactions++;
    }
    for (const id of await storeFilms(pool, part, false)) committed.add(id);
    transactions++;
    at += part.length;
    onProgress(at);
  }
  return { transactions, committed, rolledBack };
}
