import { actorUri, reviewUri, type Activity } from '../src/domain/activity';
import { actorOf, move, updateActor } from '../src/domain/actor';
import type { Occurrence } from '../src/domain/occurrence';
import { announce, like } from '../src/domain/reactionActivities';
import { accept, block, follow } from '../src/domain/relationActivities';
import { createReview, deleteReview, idsOfReview, updateReview } from '../src/domain/reviewActivities';
import { undo } from '../src/domain/undo';
import { addToWatchlist } from '../src/domain/watchlistActivities';

const HERE = 'https://here.example';
const REVIEW = '7f0c0a52-6ea5-4a8e-9f0e-5a1d3a1f2b10';
const OTHER_REVIEW = '7f0c0a52-6ea5-4a8e-9f0e-5a1d3a1f2b11';
const REMOTE = 'https://there.example/users/harry';
const OTHER_REMOTE = 'https://there.example/users/anna';

const occurrence = (version: number, changes: Partial<Occurrence> = {}): Occurrence => ({
  origin: HERE,
  actor: actorUri(HERE, 'holly'),
  version,
  published: '2024-02-01T10:00:00.123456Z',
  ...changes,
});
const content = { film: { number: 7, title: 'The Third Man' }, rating: 9, comment: null, watchedOn: '2024-02-01' };
const user = { name: 'holly', displayName: 'Holly', publicKey: 'a key', movedTo: null, version: 2 };

/** Each of what is told, of a subject and of another one. */
const BUILDERS: Record<string, (occurrence: Occurrence, other?: boolean) => Activity> = {
  Create: (o, other) => createReview(o, { ...content, reviewId: other ? OTHER_REVIEW : REVIEW }),
  Update: (o, other) => updateReview(o, { ...content, reviewId: other ? OTHER_REVIEW : REVIEW }),
  Delete: (o, other) => deleteReview(o, other ? OTHER_REVIEW : REVIEW),
  Announce: (o, other) => announce(o, other ? reviewUri(HERE, OTHER_REVIEW) : reviewUri(HERE, REVIEW)),
  Like: (o, other) => like(o, other ? reviewUri(HERE, OTHER_REVIEW) : reviewUri(HERE, REVIEW)),
  Add: (o, other) => addToWatchlist(o, other ? { number: 8, title: 'Laura' } : { number: 7, title: 'The Third Man' }),
  Move: (o, other) => move(other ? { ...o, actor: actorUri(HERE, 'anna') } : o, REMOTE),
  'Update of the actor': (o, other) => updateActor(o, actorOf(HERE, { ...user, name: other ? 'anna' : 'holly' })),
  Follow: (o, other) => follow(o, other ? OTHER_REMOTE : REMOTE),
  Accept: (o, other) => accept(o, other ? OTHER_REMOTE : REMOTE),
  Block: (o, other) => block(o, other ? OTHER_REMOTE : REMOTE),
};

describe.each(Object.entries(BUILDERS))('%s', (_, build) => {
  it('is the same to the letter each time it is built', () => {
    expect(JSON.stringify(build(occurrence(2)))).toBe(JSON.stringify(build(occurrence(2))));
    const undone = () => JSON.stringify(undo(occurrence(3), build(occurrence(2))));
    expect(undone()).toBe(undone());
  });

  it('has another id for another version, subject or instance, and so has its Undo', () => {
    const variants = [
      build(occurrence(2)),
      build(occurrence(4)),
      build(occurrence(2), true),
      build(occurrence(2, { origin: 'https://elsewhere.example' })),
    ];
    const undos = variants.map((original) => undo(occurrence(5, { origin: new URL(original.id).origin }), original));
    expect(new Set([...variants, ...undos].map(({ id }) => id)).size).toBe(2 * variants.length);
  });

  it('has an Undo that holds the whole of it, and one only', () => {
    const original = build(occurrence(2));
    expect(undo(occurrence(3), original).object).toEqual(original);
    expect(undo(occurrence(3), original).id).toBe(undo(occurrence(9, { published: 'later' }), original).id);
  });
});

it('no two types of activity share an id, nor do their Undos', () => {
  const all = Object.values(BUILDERS).map((build) => build(occurrence(2)));
  const undos = all.map((original) => undo(occurrence(3), original));
  expect(new Set([...all, ...undos].map(({ id }) => id)).size).toBe(2 * all.length);
});

it('when something was published is no part of its id', () => {
  for (const build of Object.values(BUILDERS))
    expect(build(occurrence(2, { published: 'later' })).id).toBe(build(occurrence(2)).id);
});

it('an Accept names the Follow as the follower’s own instance does', () => {
  const theirs: Occurrence = { ...occurrence(4), origin: 'https://there.example', actor: REMOTE };
  const { id } = follow(theirs, actorUri(HERE, 'holly'));
  expect(accept(occurrence(4), REMOTE).object).toMatchObject({ id, actor: REMOTE, object: actorUri(HERE, 'holly') });
});

it('whoever was told of a review is known by the ids of its logging, its edits and later first tellings', () => {
  expect(idsOfReview(HERE, REVIEW, 4).sort()).toEqual(
    [
      updateReview(occurrence(1), { ...content, reviewId: REVIEW }).id,
      createReview(occurrence(2), { ...content, reviewId: REVIEW }).id,
      createReview(occurrence(3), { ...content, reviewId: REVIEW }).id,
      createReview(occurrence(1), { ...content, reviewId: REVIEW }).id,
      updateReview(occurrence(2), { ...content, reviewId: REVIEW }).id,
      updateReview(occurrence(3), { ...content, reviewId: REVIEW }).id,
    ].sort(),
  );
});
