import { filmOf } from '../src/domain/film';
import type { Step } from './client';
import type { RatedFilm } from './diary';
import { put } from './steps';

export interface Wishes {
  readonly steps: readonly Step[];
  /** Discovered by being wished for; they stay when a wish is taken back. */
  readonly filmIds: readonly string[];
  /** What is on the list at the end, as `<user> <film id>`. */
  readonly listed: ReadonlyMap<string, string>;
}

const USER = 'edda';
/** Every so many of them are taken off again. */
const TAKEN_OFF = 3;

/** A watchlist of films that nobody has reviewed. */
export function wishesFor(films: readonly RatedFilm[]): Wishes {
  const steps: Step[] = [];
  const listed = new Map<string, string>();
  films.forEach(({ number, title }, index) => {
    const path = `/users/${USER}/watchlist/${number}`;
    steps.push(put('first', path, { title }));
    if (index % TAKEN_OFF === 0) steps.push({ instance: 'first', method: 'DELETE', path });
    else listed.set(`${USER} ${filmOf(number, title).id}`, '');
  });
  return { steps, listed, filmIds: films.map(({ number, title }) => filmOf(number, title).id) };
}
