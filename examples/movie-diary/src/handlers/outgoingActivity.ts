import { defineHandler, type Handler } from 'temporal-outbox';
import { PostgresActivities } from '../adapters/postgres/activities';
import { joined } from '../adapters/postgres/connection';
import { PostgresFilms } from '../adapters/postgres/films';
import { PostgresRemoteFollowers } from '../adapters/postgres/remoteFollowers';
import { PostgresRemoteReviews } from '../adapters/postgres/remoteReviews';
import { PostgresReviews } from '../adapters/postgres/reviews';
import { PostgresUsers } from '../adapters/postgres/users';
import type { RemoteActors } from '../ports/remoteActors';
import { activityOfEvent } from './outgoing/activityOfEvent';
import { OUTGOING_EVENTS } from './outgoing/events';
import { send } from './outgoing/send';

/**
 * Safe to run again: an activity says what its event says, under an id that is derived from it, and is kept with its
 * deliveries and their events in the transaction of the ledger's entry. Run again, at once or late, it finds the activity
 * there and leaves it; an inbox that is known has no second event, one that is new by then is one more delivery.
 */
export function outgoingActivity(origin: string, remoteActors: RemoteActors): Handler {
  return defineHandler({
    name: 'outgoing-activity',
    events: OUTGOING_EVENTS,
    transactional: true,
    run: async (event, { tx, signal }) => {
      const connection = joined(tx);
      const activities = new PostgresActivities(connection);
      const outgoing = await activityOfEvent(event, origin, {
        activities,
        films: new PostgresFilms(connection),
        remoteReviews: new PostgresRemoteReviews(connection),
        reviews: new PostgresReviews(connection),
        users: new PostgresUsers(connection),
      });
      const followers = new PostgresRemoteFollowers(connection);
      if (outgoing) await send(outgoing, event, { activities, followers, remoteActors }, signal);
    },
  });
}
