import { ReviewUnannounced } from '../events/reactions';
import type { Reactions } from '../ports/reactions';
import { changeReaction, type ReactionCommand } from './changeReaction';

/** Of a review that may be gone by now. Without an announcement, nothing. @throws Refusal */
export function unannounceReview(reactions: Reactions, command: ReactionCommand): Promise<void> {
  return changeReaction(reactions, command, { kind: 'announce', active: false, event: ReviewUnannounced.event });
}
