import type { Connection } from './connection';
import { PostgresFilms } from './films';
import { PostgresPeople } from './people';
import { PostgresReviews } from './reviews';
import { PostgresSearchIndex } from './searchIndex';
import { PostgresUsers } from './users';

/** Over a pool in the server, over a handler's transaction in the worker. */
export function repositories(connection: Connection) {
  return {
    films: new PostgresFilms(connection),
    people: new PostgresPeople(connection),
    reviews: new PostgresReviews(connection),
    search: new PostgresSearchIndex(connection),
    users: new PostgresUsers(connection),
  };
}

export type Repositories = ReturnType<typeof repositories>;
