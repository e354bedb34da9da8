import { ReviewAnnounced } from '../events/reactions';
import type { Reactions } from '../ports/reactions';
import { changeReaction, type ReactionCommand } from './changeReaction';
import { mustKnowReview, type KnownReviews } from './mustKnowReview';

/** Shows the review to the followers too. Said again it is the same announcement. @throws Refusal */
export async function announceReview(
  deps: KnownReviews & { readonly reactions: Reactions },
  command: ReactionCommand,
): Promise<void> {
  await mustKnowReview(deps, command.reviewUri);
  await changeReaction(deps.reactions, command, { kind: 'announce', active: true, event: ReviewAnnounced.event });
}
