import { defineHandler, type Handler } from 'temporal-outbox';
import { joined } from '../adapters/postgres/connection';
import { PostgresInbox } from '../adapters/postgres/inbox';
import { PostgresStoredActors } from '../adapters/postgres/remoteActors';
import { PostgresRemoteFollowers } from '../adapters/postgres/remoteFollowers';
import { PostgresRemoteFollowings } from '../adapters/postgres/remoteFollowings';
import { PostgresRemoteReactions } from '../adapters/postgres/remoteReactions';
import { PostgresUsers } from '../adapters/postgres/users';
import { readIncoming } from '../domain/incoming';
import { meaningOf } from '../domain/meaning';
import { RemoteActivityReceived } from '../events/federation';
import { applyActivity } from '../useCases/applyActivity';

/**
 * Safe to run again, and in any order: follows, blocks, reactions and profiles each have a version of their sender's, and
 * the highest is what stays. An Undo that overtakes what it undoes is kept, so that the other comes too late.
 */
export function inboundActivity({ origin }: { readonly origin: string }): Handler {
  return defineHandler({
    name: 'inbound-activity',
    events: [RemoteActivityReceived],
    transactional: true,
    run: async ({ payload }, { tx }) => {
      const connection = joined(tx);
      const received = await new PostgresInbox(connection).find(payload.activityId, payload.userId);
      const user = received && (await new PostgresUsers(connection).byId(payload.userId));
      if (!user) return;
      await applyActivity(
        {
          actors: new PostgresStoredActors(connection),
          remoteFollowers: new PostgresRemoteFollowers(connection),
          remoteFollowings: new PostgresRemoteFollowings(connection),
          remoteReactions: new PostgresRemoteReactions(connection),
          origin,
        },
        { user, actor: received.actor, meaning: meaningOf(readIncoming(received.body)) },
      );
    },
  });
}
