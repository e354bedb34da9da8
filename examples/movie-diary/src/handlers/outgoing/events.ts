import type { EventOf } from 'temporal-outbox';
import { AccountMoved, ProfileUpdated } from '../../events/accounts';
import * as follows from '../../events/follows';
import { ReviewAnnounced, ReviewLiked, ReviewUnannounced, ReviewUnliked } from '../../events/reactions';
import { ReviewDeleted, ReviewEdited, ReviewLogged } from '../../events/reviews';
import { WatchlistEntryAdded, WatchlistEntryRemoved } from '../../events/watchlist';

/** What other instances are told of. */
export const OUTGOING_EVENTS = [
  ...([ReviewLogged, ReviewEdited, ReviewDeleted] as const),
  ...([WatchlistEntryAdded, WatchlistEntryRemoved] as const),
  ...([ReviewLiked, ReviewUnliked, ReviewAnnounced, ReviewUnannounced] as const),
  ...([ProfileUpdated, AccountMoved] as const),
  ...([follows.RemoteFollowRequested, follows.RemoteFollowEnded, follows.RemoteFollowerAccepted] as const),
  ...([follows.ActorBlocked, follows.ActorUnblocked] as const),
] as const;

export type OutgoingEvent = EventOf<(typeof OUTGOING_EVENTS)[number]>;
