import { ReviewLiked } from '../events/reactions';
import type { Reactions } from '../ports/reactions';
import { changeReaction, type ReactionCommand } from './changeReaction';
import { mustKnowReview, type KnownReviews } from './mustKnowReview';

/** Said again it is the same like. @throws Refusal */
export async function likeReview(
  deps: KnownReviews & { readonly reactions: Reactions },
  command: ReactionCommand,
): Promise<void> {
  await mustKnowReview(deps, command.reviewUri);
  await changeReaction(deps.reactions, command, { kind: 'like', active: true, event: ReviewLiked.event });
}
