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
 * other, which leaves a tombstone behind. Whichever comes last, the Delete or what it overtook, takes the content out of what
 * is kept of the review's activities; one that is handled again then means nothing.
 */
export function inboundReviewImport(): Handler {
  return defineHandler({
    name: 'inbound-review-import',
    events: [RemoteReviewReceived],
    transactional: true,
    run: async ({ payload }, { tx }) => {
      const inbox = new PostgresInbox(joined(tx));
      const received = await inbox.find(payload.activityId, payload.userId);
      if (!received) return;
      const { actor, body } = received;
      const meaning = meaningOf(readIncoming(body));
      const remoteReviews = new PostgresRemoteReviews(joined(tx));
      if (meaning.kind === 'review saved') {
        await saveRemoteReview(remoteReviews, { ...meaning.review, actor, version: meaning.version });
        await inbox.forgetDeletedReview(meaning.review.uri);
      }
      if (meaning.kind === 'review removed') {
        await removeRemoteReview(remoteReviews, { uri: meaning.uri, actor, version: meaning.version });
        await inbox.forgetDeletedReview(meaning.uri);
      }
    },
  });
}
