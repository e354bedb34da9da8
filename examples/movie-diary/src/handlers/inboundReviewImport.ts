import { defineHandler, type Handler } from 'temporal-outbox';
import { joined } from '../adapters/postgres/connection';
import { PostgresInbox } from '../adapters/postgres/inbox';
import { PostgresRemoteReviews } from '../adapters/postgres/remoteReviews';
import { readIncoming } from '../domain/incoming';
import { meaningOf } from '../domain/meaning';
import { RemoteReviewReceived } from '../events/federation';
import { removeRemoteReview } from '../useCases/removeRemoteReview';
import { saveRemoteReview } from '../useCases/saveRemoteReview';

/**
 * Safe to run again, and in any order: the highest version of a review is what stays, and a deletion is a version as any
 * other, which leaves a tombstone behind.
 */
export function inboundReviewImport(): Handler {
  return defineHandler({
    name: 'inbound-review-import',
    events: [RemoteReviewReceived],
    transactional: true,
    run: async ({ payload }, { tx }) => {
      const received = await new PostgresInbox(joined(tx)).find(payload.activityId, payload.userId);
      if (!received) return;
      const { actor, body } = received;
      const meaning = meaningOf(readIncoming(body));
      const remoteReviews = new PostgresRemoteReviews(joined(tx));
      if (meaning.kind === 'review saved')
        await saveRemoteReview(remoteReviews, { ...meaning.review, actor, version: meaning.version });
      if (meaning.kind === 'review removed')
        await removeRemoteReview(remoteReviews, { uri: meaning.uri, actor, version: meaning.version });
    },
  });
}
