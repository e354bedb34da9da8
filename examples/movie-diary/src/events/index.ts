import type { EventDefinition } from 'temporal-outbox/producer';
import * as accounts from './accounts';
import * as federation from './federation';
import * as films from './films';
import * as follows from './follows';
import * as integrations from './integrations';
import * as people from './people';
import * as posters from './posters';
import * as reactions from './reactions';
import * as reviews from './reviews';
import * as watchlist from './watchlist';
import * as wrapUps from './wrapUps';

/** Every event of this application: a handler for any other type does not start. */
export const EVENTS: readonly EventDefinition[] = [
  accounts,
  federation,
  films,
  follows,
  integrations,
  people,
  posters,
  reactions,
  reviews,
  watchlist,
  wrapUps,
].flatMap((area) => Object.values<EventDefinition>(area));
