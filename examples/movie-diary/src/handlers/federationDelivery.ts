import { defineHandler, type Handler } from 'temporal-outbox';
import { PostgresActivities } from '../adapters/postgres/activities';
import { joined, type Connection } from '../adapters/postgres/connection';
import { PostgresReviews } from '../adapters/postgres/reviews';
import { PostgresUsers } from '../adapters/postgres/users';
import { keyId, type Activity } from '../domain/activity';
import { leftOf } from '../domain/reviewActivities';
import { isAboutBlock } from '../domain/undo';
import { ActivityDeliveryRequested } from '../events/federation';
import type { Inboxes } from '../ports/inboxes';

/** A request has 10 s, and one that a rival has under way is waited for. */
const TIMEOUT_MS = 30_000;

/**
 * Safe to run again: the delivery's row is locked while its request is under way and says afterwards what came of it, so
 * there is at most one request for an activity and an inbox. Whoever comes second waits, and finds it delivered.
 *
 * The transaction is one of its own, not the worker's: that one may hold several events, and would undo the marks of those
 * that were sent when another one fails, and send them again.
 *
 * It looks at the present state: a review that is deleted by now is not sent any more, nor anything to whom the user blocks.
 *
 * What remains: when the answer, the process or the commit is lost behind a request that has arrived, the same activity
 * is sent again, letter for letter and under the same id. Receivers drop it by that.
 */
export function federationDelivery(connection: Connection, inboxes: Inboxes): Handler {
  return defineHandler({
    name: 'federation-delivery',
    events: [ActivityDeliveryRequested],
    timeoutMs: TIMEOUT_MS,
    run: ({ payload: { activityId, inbox } }, { signal }) =>
      connection.transaction(async (tx) => {
        const activities = new PostgresActivities(joined(tx));
        const delivery = await activities.lockDelivery(activityId, inbox);
        if (delivery?.state !== 'requested') return;
        const activity = await activities.find(activityId);
        if (!activity) return;
        const { userId } = delivery;
        const left = await leftOf(activity, new PostgresReviews(joined(tx)));
        // It may have been kept after its review’s end was told, and has its content still.
        if (left) await activities.withdraw([activityId], left);
        const isWithheld = left || (!isAboutBlock(activity) && (await activities.isBlocked(userId, inbox)));
        const outcome = isWithheld
          ? 'refused'
          : await inboxes.post(inbox, activity, await keyOf(activity, userId), signal);
        await activities.settleDelivery(activityId, inbox, outcome);

        async function keyOf({ actor }: Activity, user: string) {
          return { id: keyId(actor), privateKey: await new PostgresUsers(joined(tx)).privateKeyOf(user) };
        }
      }),
  });
}
