import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Film } from './movieDiscovered';

/** The package exports its loader only, not its files: they are read where npm has put them. */
const DATA = join(__dirname, '..', '..', 'node_modules', 'vega-datasets', 'data', 'movies.json');

/** All films of the npm package `vega-datasets`, in its order. What can be typed is; the record is kept as it is. */
export function readFilms(): Film[] {
  return (JSON.parse(readFileSync(DATA, 'utf8')) as Film['record'][]).map((record, index) => ({
    number: index + 1,
    title: titleOf(record.Title),
    releaseDate: releaseDateOf(record['Release Date']),
    record,
  }));
}

/** `1776` and `2012` are films, and numbers in the data. */
function titleOf(title: unknown): string | null {
  return typeof title === 'string' || typeof title === 'number' ? String(title) : null;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Jun 12 1998` as a date; a date that no calendar has is none. */
function releaseDateOf(text: unknown): string | null {
  const parts = typeof text === 'string' ? /^(\w{3}) (\d{2}) (\d{4})$/.exec(text) : null;
  const month = MONTHS.indexOf(parts?.[1] ?? '') + 1;
  if (!parts || month === 0) return null;
  const iso = `${parts[3]}-${String(month).padStart(2, '0')}-${parts[2]}`;
  const date = new Date(`${iso}T00:00:00Z`);
  return Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== iso ? null : iso;
}
