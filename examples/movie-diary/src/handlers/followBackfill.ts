import { defineHandler, type Handler } from 'temporal-outbox';
import { PostgresActivities } from '../adapters/postgres/activities';
import { joined } from '../adapters/postgres/connection';
import { PostgresFilms } from '../adapters/postgres/films';
import { PostgresRemoteFollowers } from '../adapters/postgres/remoteFollowers';
import { PostgresReviews } from '../adapters/postgres/reviews';
import { PostgresUsers } from '../adapters/postgres/users';
import { RemoteFollowerAccepted } from '../events/follows';
import { backfillFollower } from '../useCases/backfillFollower';

/** A diary of many years is some thousands of reviews, with three statements each. */
const TIMEOUT_MS = 300_000;

/**
 * Safe to run again: the id of each activity is derived from the review and its version, and activities and deliveries
 * that are there already are left alone, without a second event. Run late, it sends what there is by then and was not
 * told otherwise meanwhile.
 */
export function followBackfill({ origin }: { readonly origin: string }): Handler {
  return defineHandler({
    name: 'follow-backfill',
    events: [RemoteFollowerAccepted],
    transactional: true,
    timeoutMs: TIMEOUT_MS,
    run: async ({ eventId, occurredAt, payload }, { tx, signal }) => {
      const connection = joined(tx);
      const user = await new PostgresUsers(connection).byId(payload.userId);
      if (!user) return;
      await backfillFollower(
        {
          activities: new PostgresActivities(connection),
          films: new PostgresFilms(connection),
          remoteFollowers: new PostgresRemoteFollowers(connection),
          reviews: new PostgresReviews(connection),
          origin,
        },
        { user, actor: payload.actor, causationId: eventId, published: occurredAt },
        signal,
      );
    },
  });
}
