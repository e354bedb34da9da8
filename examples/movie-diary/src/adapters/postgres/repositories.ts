import { PostgresActivities } from './activities';
import type { Connection } from './connection';
import { PostgresDiaryImports } from './diaryImports';
import { PostgresFilms } from './films';
import { PostgresPeople } from './people';
import { PostgresPosters } from './posters';
import { PostgresReviews } from './reviews';
import { PostgresSearchIndex } from './searchIndex';
import { PostgresUsers } from './users';
import { PostgresWatchEvents } from './watchEvents';
import { PostgresWatchlist } from './watchlist';
import { PostgresWrapUps } from './wrapUps';

/** Over a pool in the server, over a handler's transaction in the worker. */
export function repositories(connection: Connection) {
  return {
    activities: new PostgresActivities(connection),
    diaryImports: new PostgresDiaryImports(connection),
    films: new PostgresFilms(connection),
    people: new PostgresPeople(connection),
    posters: new PostgresPosters(connection),
    reviews: new PostgresReviews(connection),
    search: new PostgresSearchIndex(connection),
    users: new PostgresUsers(connection),
    watchEvents: new PostgresWatchEvents(connection),
    watchlist: new PostgresWatchlist(connection),
    wrapUps: new PostgresWrapUps(connection),
  };
}

export type Repositories = ReturnType<typeof repositories>;
