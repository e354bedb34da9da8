import { filmOf } from './film';
import { objectType, readAs, SHAPES, type Incoming } from './incoming';
import { isOfInstance } from './instance';
import { Refusal } from './refusal';
import type { ReviewContent } from './review';

interface Reaction {
  readonly kind: 'like' | 'announce' | 'watchlist' | 'block';
  /** URI of the review or, of a block, of the user; of a watchlist the film's id. */
  readonly object: string;
}

export interface SavedReview extends ReviewContent {
  readonly uri: string;
  readonly film: { readonly number: number; readonly title: string };
}

/** What an activity of another instance says, in this application's terms. `version` is that of what it happened to. */
export type Meaning =
  | { readonly kind: 'review saved'; readonly review: SavedReview; readonly version: number }
  | { readonly kind: 'review removed'; readonly uri: string; readonly version: number }
  | { readonly kind: 'followed' | 'unfollowed'; readonly target: string; readonly version: number }
  | { readonly kind: 'accepted'; readonly follower: string; readonly version: number }
  | { readonly kind: 'reaction'; readonly reaction: Reaction; readonly active: boolean; readonly version: number }
  | {
      readonly kind: 'profile changed';
      readonly displayName: string;
      readonly movedTo: string | null;
      readonly version: number;
    }
  | { readonly kind: 'moved'; readonly target: string; readonly version: number }
  | { readonly kind: 'nothing' };

/**
 * Of a type that is not known here, `nothing`.
 *
 * @throws Refusal `invalid` for what is not of its type's shape, `not allowed` for what is not its actor's to say
 */
export function meaningOf(incoming: Incoming): Meaning {
  switch (incoming.type) {
    case 'Create':
      return objectType(incoming) === 'Note' ? reviewSaved(incoming) : { kind: 'nothing' };
    case 'Update':
      if (objectType(incoming) === 'Note') return reviewSaved(incoming);
      return objectType(incoming) === 'Person' ? profileChanged(incoming) : { kind: 'nothing' };
    case 'Delete':
      return objectType(incoming) === 'Tombstone' ? reviewRemoved(incoming) : { kind: 'nothing' };
    case 'Follow': {
      const { object: target, version } = readAs(SHAPES.uri, incoming);
      return { kind: 'followed', target, version };
    }
    case 'Accept':
      return objectType(incoming) === 'Follow' ? accepted(incoming) : { kind: 'nothing' };
    case 'Move': {
      const { object, target, version } = readAs(SHAPES.move, incoming);
      must(object === incoming.actor, 'An actor moves itself and nobody else');
      return { kind: 'moved', target, version };
    }
    case 'Undo':
      return undone(incoming);
    default: {
      const done = reaction(incoming);
      return done
        ? { kind: 'reaction', reaction: done.reaction, active: true, version: done.version }
        : { kind: 'nothing' };
    }
  }
}

function reviewSaved(incoming: Incoming): Meaning {
  const { object } = readAs(SHAPES.note, incoming);
  const { id: uri, attributedTo, film, rating, comment, watchedOn, version } = object;
  must(attributedTo === incoming.actor, 'A review is changed by its own author and nobody else');
  mustBeOwn(uri, incoming.actor);
  return { kind: 'review saved', review: { uri, film, rating, comment, watchedOn }, version };
}

function reviewRemoved(incoming: Incoming): Meaning {
  const { id: uri, version } = readAs(SHAPES.tombstone, incoming).object;
  mustBeOwn(uri, incoming.actor);
  return { kind: 'review removed', uri, version };
}

function profileChanged(incoming: Incoming): Meaning {
  const { object, version } = readAs(SHAPES.person, incoming);
  must(object.id === incoming.actor, 'A profile is changed by its own actor and nobody else');
  return { kind: 'profile changed', displayName: object.name, movedTo: object.movedTo ?? null, version };
}

function accepted(incoming: Incoming): Meaning {
  const { object: follow } = readAs(SHAPES.follow, incoming);
  must(follow.object === incoming.actor, 'A follow is accepted by the actor that is followed and nobody else');
  return { kind: 'accepted', follower: follow.actor, version: follow.version };
}

function undone(incoming: Incoming): Meaning {
  const { object: original, version } = readAs(SHAPES.undo, incoming);
  must(original.actor === incoming.actor, 'An activity is undone by its own actor and nobody else');
  if (original.type === 'Follow') {
    return { kind: 'unfollowed', target: readAs(SHAPES.uri, original).object, version };
  }
  const done = reaction(original);
  return done ? { kind: 'reaction', reaction: done.reaction, active: false, version } : { kind: 'nothing' };
}

function reaction(incoming: Incoming): { reaction: Reaction; version: number } | undefined {
  const { type } = incoming;
  if (type === 'Add') {
    if (objectType(incoming) !== 'Film') return undefined;
    const { object, version } = readAs(SHAPES.film, incoming);
    return { reaction: { kind: 'watchlist', object: filmOf(object.number, object.title).id }, version };
  }
  if (type !== 'Like' && type !== 'Announce' && type !== 'Block') return undefined;
  const { object, version } = readAs(SHAPES.uri, incoming);
  return { reaction: { kind: KINDS[type], object }, version };
}

const KINDS = { Like: 'like', Announce: 'announce', Block: 'block' } as const;

function mustBeOwn(uri: string, actor: string): void {
  must(isOfInstance(uri, actor), 'A review is told of by its own instance and nobody else');
}

function must(condition: boolean, sentence: string): void {
  if (!condition) throw new Refusal('not allowed', sentence);
}
