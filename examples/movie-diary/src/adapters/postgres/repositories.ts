import type { Connection } from './connection';
import { PostgresDiaryImports } from './diaryImports';
import { PostgresFilms } from './films';
import { PostgresPeople } from './people';
import { PostgresReviews } from './reviews';
import { PostgresSearchIndex } from './searchIndex';
import { PostgresUsers } from './users';
import { PostgresWatchEvents } from './watchEvents';
import { PostgresWatchlist } from './watchlist';
import { PostgresWrapUps } from './wrapUps';

/** Over a pool in the server, over a handler's transaction in the worker. */
export function repositories(connection: Connection) {
  return {
    diaryImports: new PostgresDiaryImports(connection),
    films: new PostgresFilms(connection),
    people: new PostgresPeople(connection),
    reviews: new PostgresReviews(connection),
    search: new PostgresSearchIndex(connection),
    users: new PostgresUsers(connection),
    watchEvents: new PostgresWatchEvents(connection),
    watchlist: new PostgresWatchlist(connection),
    wrapUps: new PostgresWrapUps(connection),
  };
}

export type Repositories = ReturnType<typeof repositories>;
