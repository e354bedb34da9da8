import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { id, uri, version } from './fields';

/** An activity of another instance has reached the inbox of a local user; its body is in `received_activities`. */
const received = z.object({ activityId: uri, userId: id });

/** It creates, updates or deletes a review. */
export const RemoteReviewReceived = defineEvent('RemoteReviewReceived', {
  aggregateType: 'remote-actor',
  schema: received,
});
/** Any other kind: a follow, an answer to one, a reaction, news of the actor. */
export const RemoteActivityReceived = defineEvent('RemoteActivityReceived', {
  aggregateType: 'remote-actor',
  schema: received,
});
export const RemoteReviewSaved = defineEvent('RemoteReviewSaved', {
  aggregateType: 'remote-review',
  schema: z.object({ reviewUri: uri, version }),
});
export const RemoteReviewRemoved = defineEvent('RemoteReviewRemoved', {
  aggregateType: 'remote-review',
  schema: z.object({ reviewUri: uri, version }),
});
/** An activity is to be sent to one inbox; one event for each of its inboxes. */
export const ActivityDeliveryRequested = defineEvent('ActivityDeliveryRequested', {
  aggregateType: 'activity-delivery',
  schema: z.object({ activityId: uri, inbox: uri }),
});
