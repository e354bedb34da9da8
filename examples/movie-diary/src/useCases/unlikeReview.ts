import { ReviewUnliked } from '../events/reactions';
import type { Reactions } from '../ports/reactions';
import { changeReaction, type ReactionCommand } from './changeReaction';

/** Of a review that may be gone by now. Without a like, nothing. @throws Refusal */
export function unlikeReview(reactions: Reactions, command: ReactionCommand): Promise<void> {
  return changeReaction(reactions, command, { kind: 'like', active: false, event: ReviewUnliked.event });
}
