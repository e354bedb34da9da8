import { PostgresActivities } from './activities';
import { PostgresBlocks } from './blocks';
import type { Connection } from './connection';
import { PostgresDiaryImports } from './diaryImports';
import { PostgresFilms } from './films';
import { PostgresInbox } from './inbox';
import { PostgresLocalFollows } from './localFollows';
import { PostgresPeople } from './people';
import { PostgresPosters } from './posters';
import { PostgresReactions } from './reactions';
import { PostgresRemoteFollowers } from './remoteFollowers';
import { PostgresRemoteFollowings } from './remoteFollowings';
import { PostgresRemoteReactions } from './remoteReactions';
import { PostgresRemoteReviews } from './remoteReviews';
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
    blocks: new PostgresBlocks(connection),
    diaryImports: new PostgresDiaryImports(connection),
    films: new PostgresFilms(connection),
    inbox: new PostgresInbox(connection),
    localFollows: new PostgresLocalFollows(connection),
    people: new PostgresPeople(connection),
    posters: new PostgresPosters(connection),
    reactions: new PostgresReactions(connection),
    remoteFollowers: new PostgresRemoteFollowers(connection),
    remoteFollowings: new PostgresRemoteFollowings(connection),
    remoteReactions: new PostgresRemoteReactions(connection),
    remoteReviews: new PostgresRemoteReviews(connection),
    reviews: new PostgresReviews(connection),
    search: new PostgresSearchIndex(connection),
    users: new PostgresUsers(connection),
    watchEvents: new PostgresWatchEvents(connection),
    watchlist: new PostgresWatchlist(connection),
    wrapUps: new PostgresWrapUps(connection),
  };
}

export type Repositories = ReturnType<typeof repositories>;
