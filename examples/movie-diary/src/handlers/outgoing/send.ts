import { ActivityDeliveryRequested } from '../../events/federation';
import type { Activities } from '../../ports/activities';
import type { RemoteActors } from '../../ports/remoteActors';
import type { RemoteFollowers } from '../../ports/remoteFollows';
import type { Outgoing } from './activityOfEvent';
import type { OutgoingEvent } from './events';

/** Keeps the activity, and asks for its delivery to each inbox that is to have it. */
export async function send(
  { activity, toFollowers = false, toActors = [], toReceiversOf = [], withdraws }: Outgoing,
  { eventId, payload: { userId } }: OutgoingEvent,
  stored: { readonly activities: Activities; readonly followers: RemoteFollowers; readonly remoteActors: RemoteActors },
  signal: AbortSignal,
): Promise<void> {
  // First what may take its time or fail, an actor of another instance: no row is locked until it is known.
  const actors = await Promise.all(toActors.map((actor) => stored.remoteActors.resolve(actor, signal)));
  const inboxes = new Set([
    ...actors.map(({ inbox }) => inbox),
    ...(toFollowers ? await stored.followers.inboxesOf(userId) : []),
    ...(await stored.activities.inboxesOf(toReceiversOf)),
  ]);
  if (withdraws) await stored.activities.withdraw(withdraws.ids, withdraws.tombstone);
  await stored.activities.add(userId, activity, [...inboxes], (inbox) =>
    ActivityDeliveryRequested.event({
      // What goes to one inbox goes in its order, and one that is slow holds up itself alone.
      aggregateId: inbox,
      payload: { activityId: activity.id, inbox },
      causationId: eventId,
    }),
  );
}
