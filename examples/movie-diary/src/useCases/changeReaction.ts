import type { NewEvent } from 'temporal-outbox/producer';
import { Refusal } from '../domain/refusal';
import { relationId } from '../domain/relation';
import type { ReactionKind, Reactions } from '../ports/reactions';

export interface ReactionCommand {
  readonly userId: string;
  readonly reviewUri: string;
}

interface Change {
  readonly kind: ReactionKind;
  readonly active: boolean;
  readonly event: (about: {
    aggregateId: string;
    payload: { userId: string; reviewUri: string; version: number };
  }) => NewEvent;
}

/** What is so already writes nothing. @throws Refusal */
export async function changeReaction(
  reactions: Reactions,
  { userId, reviewUri }: ReactionCommand,
  { kind, active, event }: Change,
): Promise<void> {
  const before = await reactions.find(userId, kind, reviewUri);
  if ((before?.active ?? false) === active) return;
  const version = (before?.version ?? 0) + 1;
  const about = { aggregateId: relationId(userId, `${kind} ${reviewUri}`), payload: { userId, reviewUri, version } };
  if (!(await reactions.save({ userId, kind, reviewUri, active, version }, [event(about)])))
    throw new Refusal('conflict', 'This reaction was changed at the same time; try again');
}
