import type { KeptReview, LoggedReview } from './diary';
import { ratedFilms, reviewsOf, type RatedFilm } from './diary';
import type { DataFilm } from './films';
import { endingsOf, reactionsOf } from './afterwards';
import { importOf, watchEventsOf } from './integrations';
import * as people from './people';
import type { Entries } from './reconcile/compare';
import type { Phase } from './replay';
import { apart, follow, put, registration, type Origins, type Side } from './steps';
import { wishesFor } from './wishes';

/** Of reviews, and one in ten of each other kind. */
export interface Size {
  readonly films: number;
}

export interface Plan {
  /** Each begins when all that follows from the one before has happened. */
  readonly acts: readonly { readonly name: string; readonly phases: readonly Phase[] }[];
  readonly expected: Expected;
}

/** What must be stored at the end, by id, and with whatever else must be equal. */
export interface Expected {
  readonly reviews: Readonly<Record<Side, Entries>>;
  readonly films: Readonly<Record<Side, ReadonlySet<string>>>;
  /** Of the first instance, as `<user> <film id>`. */
  readonly watchlist: Entries;
  /** Of the first instance, as `<user> <year>`. */
  readonly wrapUps: ReadonlySet<string>;
}

const SEED = 20_261_129;

/** Everything that happens, made from the films alone: the same in each run, and repeatable without harm. */
export function planOf(all: readonly DataFilm[], origins: Origins, size: Size): Plan {
  const part = Math.max(2, Math.ceil(size.films / 10));
  const rated = ratedFilms(all);
  const seen = rated.slice(0, size.films);
  const [wished, exported, streamed] = [0, 1, 2].map((nth) =>
    rated.slice(size.films + nth * part, size.films + (nth + 1) * part),
  ) as [RatedFilm[], RatedFilm[], RatedFilm[]];
  const reviews = reviewsOf(seen, people.REVIEWERS, 'first', SEED);
  const own = reviewsOf(exported, [people.FOLLOWS_BACK[1]], 'second', SEED + 1);
  const half = Math.ceil(reviews.length / 2);
  const watchlist = wishesFor(wished);
  const imported = importOf(exported);
  const watched = watchEventsOf(streamed);
  const diary: Phase[] = [
    apart([
      ...people.REVIEWERS.map((name) => registration('first', name)),
      ...people.READERS.map((name) => registration('second', name)),
    ]),
    apart([
      ...people.FOLLOWED_EARLY.map((pair) => follow('second', pair, origins.first)),
      follow('first', people.FOLLOWS_BACK, origins.second),
      ...people.LOCAL_FOLLOWS.map(([follower, followee]) => put('first', `/users/${follower}/follows/${followee}`)),
    ]),
    [...byUser(reviews.slice(0, half)), ...byUser(own), watchlist.steps],
    apart(people.FOLLOWED_LATE.map((pair) => follow('second', pair, origins.first))),
    [...byUser(reviews.slice(half)), [imported.step], watched.steps, [registration('first', people.RENAMED, ' II')]],
  ];
  const kept = [...reviews.filter(isKept), ...imported.reviews];
  return {
    acts: [
      { name: 'replaying', phases: diary },
      { name: 'reacting', phases: [reactionsOf(kept, own.filter(isKept), origins)] },
      { name: 'ending', phases: [endingsOf(origins)] },
    ],
    expected: {
      reviews: { first: entriesOf(kept), second: entriesOf(own.filter(isKept)) },
      films: {
        first: new Set([...kept.map(({ final }) => final.filmId), ...watchlist.filmIds, ...watched.filmIds]),
        second: new Set(own.filter(isKept).map(({ final }) => final.filmId)),
      },
      watchlist: watchlist.listed,
      wrapUps: new Set(people.REVIEWERS.map((name) => `${name} ${people.YEAR}`)),
    },
  };
}

function isKept(review: LoggedReview): review is LoggedReview & KeptReview {
  return review.final !== undefined;
}

/** A lane for each user: what one does goes in order. */
function byUser(reviews: readonly LoggedReview[]): Phase {
  const users = [...new Set(reviews.map(({ user }) => user))];
  return users.map((name) => reviews.filter(({ user }) => user === name).flatMap(({ steps }) => steps));
}

function entriesOf(reviews: readonly KeptReview[]): Entries {
  return new Map(
    reviews.map(({ id, final: { filmId, rating, comment, watchedOn } }) => [
      id,
      `${filmId} ${rating} ${comment === null ? 'NULL' : `'${comment.replaceAll("'", "''")}'`} ${watchedOn}`,
    ]),
  );
}
