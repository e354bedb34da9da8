import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A film of the npm package `vega-datasets`: what can be typed is; the record is kept as it is. */
export interface DataFilm {
  /** Its place in the data set, from 1: the only thing that every film has. */
  readonly number: number;
  readonly title: string | null;
  readonly releasedOn: string | null;
  readonly imdb: { readonly rating: number; readonly votes: number } | null;
  readonly record: Readonly<Record<string, unknown>>;
}

/** All 3,201, in the data set's order. The package exports its loader only, so its files are read beside that. */
export function readFilms(): DataFilm[] {
  const file = join(dirname(require.resolve('vega-datasets')), '..', 'data', 'movies.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>[]).map((record, index) => ({
    number: index + 1,
    title: titleOf(record.Title),
    releasedOn: dateOf(record['Release Date']),
    imdb: imdbOf(record['IMDB Rating'], record['IMDB Votes']),
    record,
  }));
}

/** `1776` and `2012` are films, and numbers in the data. */
function titleOf(title: unknown): string | null {
  return typeof title === 'string' || typeof title === 'number' ? String(title) : null;
}

function imdbOf(rating: unknown, votes: unknown): DataFilm['imdb'] {
  return typeof rating === 'number' && typeof votes === 'number' ? { rating, votes } : null;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Jun 12 1998` as a date; a date that no calendar has is none. */
function dateOf(text: unknown): string | null {
  const parts = typeof text === 'string' ? /^(\w{3}) (\d{2}) (\d{4})$/.exec(text) : null;
  const month = MONTHS.indexOf(parts?.[1] ?? '') + 1;
  if (!parts || month === 0) return null;
  const iso = `${parts[3]}-${String(month).padStart(2, '0')}-${parts[2]}`;
  const date = new Date(`${iso}T00:00:00Z`);
  return Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== iso ? null : iso;
}
