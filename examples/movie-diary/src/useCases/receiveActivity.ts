import { isOfInstance } from '../domain/instance';
import type { Incoming } from '../domain/incoming';
import { meaningOf, type Meaning } from '../domain/meaning';
import { Refusal } from '../domain/refusal';
import { RemoteActivityReceived, RemoteReviewReceived } from '../events/federation';
import type { Inbox } from '../ports/inbox';

interface ReceiveActivity {
  readonly userId: string;
  /** As the signature proves it. */
  readonly sender: string;
  readonly activity: Incoming;
}

/**
 * Keeps an activity with the event of its arrival; what it means is worked out behind the answer. One of an unknown type
 * is kept too, without effect.
 *
 * @returns false when it came before; then nothing is written
 * @throws Refusal
 */
export async function receiveActivity(inbox: Inbox, command: ReceiveActivity): Promise<boolean> {
  const { userId, sender, activity } = command;
  if (activity.actor !== sender) throw new Refusal('not allowed', 'The actor is not the one who signed');
  // Else somebody could use up the id of another's activity before it arrives.
  if (!isOfInstance(activity.id, sender))
    throw new Refusal('not allowed', 'The id of the activity is not one of its actor’s instance');
  const received = isOfReview(meaningOf(activity)) ? RemoteReviewReceived : RemoteActivityReceived;
  const event = received.event({ aggregateId: sender, payload: { activityId: activity.id, userId } });
  const outcome = await inbox.receive({ id: activity.id, userId, actor: sender, type: activity.type, body: activity }, [
    event,
  ]);
  if (outcome === 'blocked') throw new Refusal('not allowed', 'This user takes nothing from this actor');
  return outcome === 'received';
}

function isOfReview({ kind }: Meaning): boolean {
  return kind === 'review saved' || kind === 'review removed';
}
