import { v5 } from 'uuid';
import { filmOf, NAMESPACE } from '../src/domain/film';
import type { DataFilm } from './films';
import type { Step } from './client';
import { seeded } from './seeded';

const EDITED = 0.15;
const DELETED = 0.1;
const MOST_REVIEWERS = 4;
const COMMENTS = [
  null,
  'Again, some day.',
  'Twice as long as it is.',
  'The ending!',
  'Seen on a train.',
  'For the music.',
];

export interface LoggedReview {
  readonly id: string;
  readonly user: string;
  readonly steps: readonly Step[];
  /** What is stored at the end; undefined when it is deleted. */
  readonly final: FinalReview | undefined;
}

export type KeptReview = Pick<LoggedReview, 'id' | 'user'> & { readonly final: FinalReview };

export interface FinalReview {
  readonly filmId: string;
  readonly rating: number;
  readonly comment: string | null;
  readonly watchedOn: string;
}

export type RatedFilm = DataFilm & { readonly title: string; readonly imdb: NonNullable<DataFilm['imdb']> };

/** The films that somebody can have an opinion of, the ones with the most votes first. */
export function ratedFilms(films: readonly DataFilm[]): RatedFilm[] {
  return films
    .filter((film): film is RatedFilm => film.title !== null && film.imdb !== null)
    .sort((a, b) => b.imdb.votes - a.imdb.votes || a.number - b.number);
}

/**
 * A diary made of real films: the more votes a film has, the more people have seen it, and their ratings lie around its
 * own. Some are edited once, some are deleted. The same for the same seed.
 *
 * @param instance where the people are
 */
export function reviewsOf(
  films: readonly RatedFilm[],
  users: readonly string[],
  instance: Step['instance'],
  seed: number,
): LoggedReview[] {
  const random = seeded(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  return films.flatMap((film) => {
    const seenBy = shuffled(users, random).slice(0, viewersOf(film));
    return seenBy.map((user) => {
      const id = v5(`review ${user} ${film.number}`, NAMESPACE);
      const path = `/users/${user}/reviews/${id}`;
      const rate = () => Math.min(10, Math.max(1, Math.round(film.imdb.rating + 4 * random() - 2)));
      const logged = { rating: rate(), comment: pick(COMMENTS), watchedOn: dayOf2024(random) };
      const named = { number: film.number, title: film.title };
      const steps: Step[] = [{ instance, method: 'PUT', path, body: { film: named, ...logged } }];
      let final: FinalReview | undefined = { filmId: filmOf(film.number, film.title).id, ...logged };
      if (random() < EDITED) {
        const edit = { rating: rate(), comment: pick(COMMENTS) };
        steps.push({ instance, method: 'PATCH', path, body: edit });
        final = { ...final, ...edit };
      }
      if (random() < DELETED) {
        steps.push({ instance, method: 'DELETE', path });
        final = undefined;
      }
      return { id, user, steps, final };
    });
  });
}

function viewersOf({ imdb }: RatedFilm): number {
  return Math.min(MOST_REVIEWERS, Math.max(1, Math.floor(Math.log10(imdb.votes)) - 2));
}

function dayOf2024(random: () => number): string {
  return new Date(Date.UTC(2024, 0, 1 + Math.floor(random() * 366))).toISOString().slice(0, 10);
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
