import type { NewEvent } from 'temporal-outbox/producer';
import { Refusal } from '../domain/refusal';
import { relationId } from '../domain/relation';
import { ReviewAnnounced, ReviewLiked, ReviewUnannounced, ReviewUnliked } from '../events/reactions';
import type { ReactionKind, Reactions } from '../ports/reactions';
import type { RemoteReviews } from '../ports/remoteReviews';
import type { Reviews } from '../ports/reviews';

export interface ReactionCommand {
  readonly userId: string;
  readonly reviewUri: string;
}

interface Deps {
  readonly reactions: Reactions;
  readonly reviews: Reviews;
  readonly remoteReviews: RemoteReviews;
  /** Of this instance. */
  readonly origin: string;
}

/** Said again it is the same like. @throws Refusal */
export async function likeReview(deps: Deps, command: ReactionCommand): Promise<void> {
  await mustKnow(deps, command.reviewUri);
  await change(deps.reactions, command, { kind: 'like', active: true, event: ReviewLiked.event });
}

/** Shows the review to the followers too. Said again it is the same announcement. @throws Refusal */
export async function announceReview(deps: Deps, command: ReactionCommand): Promise<void> {
  await mustKnow(deps, command.reviewUri);
  await change(deps.reactions, command, { kind: 'announce', active: true, event: ReviewAnnounced.event });
}

/** Of a review that may be gone by now. Without a like, nothing. @throws Refusal */
export function unlikeReview(reactions: Reactions, command: ReactionCommand): Promise<void> {
  return change(reactions, command, { kind: 'like', active: false, event: ReviewUnliked.event });
}

/** Of a review that may be gone by now. Without an announcement, nothing. @throws Refusal */
export function unannounceReview(reactions: Reactions, command: ReactionCommand): Promise<void> {
  return change(reactions, command, { kind: 'announce', active: false, event: ReviewUnannounced.event });
}

interface Change {
  readonly kind: ReactionKind;
  readonly active: boolean;
  readonly event: (about: {
    aggregateId: string;
    payload: { userId: string; reviewUri: string; version: number };
  }) => NewEvent;
}

async function change(reactions: Reactions, command: ReactionCommand, { kind, active, event }: Change): Promise<void> {
  const { userId, reviewUri } = command;
  const before = await reactions.find(userId, kind, reviewUri);
  if ((before?.active ?? false) === active) return;
  const version = (before?.version ?? 0) + 1;
  const about = { aggregateId: relationId(userId, `${kind} ${reviewUri}`), payload: { userId, reviewUri, version } };
  if (!(await reactions.save({ userId, kind, reviewUri, active, version }, [event(about)])))
    throw new Refusal('conflict', 'This reaction was changed at the same time; try again');
}

/** One reacts to what one has seen: a review of this instance, or one that came in from another. */
async function mustKnow({ reviews, remoteReviews, origin }: Deps, reviewUri: string): Promise<void> {
  const own = `${origin}/reviews/`;
  const id = reviewUri.startsWith(own) ? reviewUri.slice(own.length) : undefined;
  const known = id === undefined ? await remoteReviews.find(reviewUri) : UUID.test(id) && (await reviews.find(id));
  if (!known) throw new Refusal('not found', 'There is no such review here');
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
