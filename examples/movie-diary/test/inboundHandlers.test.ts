import { randomUUID } from 'node:crypto';
import type { EventDefinition, Handler } from 'temporal-outbox';
import { eventually } from '../../../test/support/eventually';
import { PostgresStoredActors } from '../src/adapters/postgres/remoteActors';
import { filmOf } from '../src/domain/film';
import type { User } from '../src/domain/user';
import { RemoteActivityReceived, RemoteReviewReceived } from '../src/events/federation';
import { blockActor } from '../src/useCases/blockActor';
import { followActor } from '../src/useCases/followActor';
import { receiveActivity } from '../src/useCases/receiveActivity';
import { registerUser } from '../src/useCases/registerUser';
import { unblockActor } from '../src/useCases/unblockActor';
import { unfollowActor } from '../src/useCases/unfollowActor';
import { TestDiary } from './support/diary';
import { ordersOf } from './support/orders';
import { openTransaction } from './support/openTransaction';
import { handled, runHandler } from './support/runHandler';
import { activity, newReviewUri, note, type Sent } from './support/sender';

const THERE = 'https://there.example';

let diary: TestDiary;
let handlers: Handler[];

beforeAll(async () => {
  diary = await TestDiary.create();
  handlers = diary.handlers();
});
afterAll(() => diary.close());

/** A user here, and an actor there whose key was seen. */
async function two() {
  const name = `u${randomUUID().slice(0, 8)}`;
  const { user } = await registerUser(diary.repositories.users, { name, displayName: name });
  const id = `${THERE}/users/a${randomUUID().slice(0, 8)}`;
  const stored = { uri: id, inbox: `${id}/inbox`, keyId: `${id}#main-key`, publicKey: 'a key' };
  await new PostgresStoredActors(diary.connection).save({ ...stored, displayName: 'at first', movedTo: null }, 1);
  return { user, actor: { id }, self: `${diary.origin}/users/${name}` };
}

async function keep(user: User, sent: Sent): Promise<void> {
  await receiveActivity(diary.repositories.inbox, { userId: user.id, sender: sent.actor, activity: sent });
}

const REVIEWS = ['Create', 'Delete'];

/** The activity's event once more, as a worker would handle it. */
function handle(user: User, sent: Sent): Promise<void> {
  const object = sent.object as { type?: string } | undefined;
  const isReview = REVIEWS.includes(sent.type) || (sent.type === 'Update' && object?.type === 'Note');
  const definition: EventDefinition<string, { activityId: string; userId: string }> = isReview
    ? RemoteReviewReceived
    : RemoteActivityReceived;
  const name = isReview ? 'inbound-review-import' : 'inbound-activity';
  return runHandler(handlers, name, handled(definition, { activityId: sent.id, userId: user.id }), diary.pool);
}

async function rowsOf(sql: string, ...values: unknown[]): Promise<unknown[]> {
  const { rows } = await diary.pool.query<Record<string, unknown>>(sql, values);
  return rows;
}

async function eventsAbout(field: string, value: string): Promise<{ type: string; version: number }[]> {
  const { rows } = await diary.outbox.db.query<{ type: string; version: number }>(
    `SELECT event_type AS type, (payload ->> 'version')::integer AS version FROM :schema.event_queue
      WHERE payload ->> $1 = $2 AND payload ? 'version' ORDER BY id`,
    [field, value],
  );
  return rows;
}

/**
 * Lets the activities of one subject arrive in every order, with repeats, and all at once; each order with a subject of its
 * own. What is left must be the same each time.
 */
async function converge(
  length: number,
  subject: () => Promise<{ user: User; sent: Sent[]; state: () => Promise<unknown> }>,
  expected: unknown,
): Promise<void> {
  const { sent } = await subject();
  for (const order of ordersOf([...sent.keys()], length)) {
    const { user, sent: activities, state } = await subject();
    for (const one of activities) await keep(user, one);
    for (const index of order) await handle(user, activities[index]!);
    expect([order, await state()]).toEqual([order, expected]);
  }
  for (let round = 0; round < 10; round++) {
    const { user, sent: activities, state } = await subject();
    for (const one of activities) await keep(user, one);
    await Promise.all([...activities, ...activities].map((one) => handle(user, one)));
    expect(['at once', await state()]).toEqual(['at once', expected]);
  }
}

describe('a review', () => {
  const state = (uri: string) =>
    rowsOf('SELECT version, deleted, rating, comment, film_title AS title FROM remote_reviews WHERE uri = $1', uri);

  it('ends deleted in whatever order its Create, Update and Delete arrive, and never comes back', async () => {
    await converge(
      4,
      async () => {
        const { user, actor } = await two();
        const uri = newReviewUri(actor);
        const sent = [
          activity(actor, 'Create', { object: note(actor, uri, 1) }),
          activity(actor, 'Update', { object: note(actor, uri, 2), version: 2 }),
          activity(actor, 'Delete', { object: { id: uri, type: 'Tombstone', version: 3 }, version: 3 }),
        ];
        return { user, sent, state: () => state(uri) };
      },
      [{ version: 3, deleted: true, rating: null, comment: null, title: null }],
    );
  }, 120_000);

  it('ends as its last edit in whatever order its versions arrive', async () => {
    await converge(
      4,
      async () => {
        const { user, actor } = await two();
        const uri = newReviewUri(actor);
        const sent = [1, 2, 3].map((version) =>
          activity(actor, version === 1 ? 'Create' : 'Update', { object: note(actor, uri, version), version }),
        );
        return { user, sent, state: () => state(uri) };
      },
      [{ version: 3, deleted: false, rating: 3, comment: 'version 3', title: 'The Third Man' }],
    );
  }, 120_000);

  it('that was deleted has left its words nowhere, in whatever order it was told', async () => {
    for (const order of ordersOf([0, 1, 2], 3)) {
      const { user, actor } = await two();
      const uri = newReviewUri(actor);
      const sent = [
        activity(actor, 'Create', { object: note(actor, uri, 1) }),
        activity(actor, 'Update', { object: note(actor, uri, 2), version: 2 }),
        activity(actor, 'Delete', { object: { id: uri, type: 'Tombstone', version: 3 }, version: 3 }),
      ];
      for (const index of order) {
        await keep(user, sent[index]!);
        await handle(user, sent[index]!);
      }
      const texts = await rowsOf('SELECT body::text FROM received_activities WHERE actor = $1', actor.id);
      expect(texts).toHaveLength(3);
      expect([order, JSON.stringify(texts)]).toEqual([order, expect.not.stringMatching(/comment|rating|Third Man/)]);
    }
  });

  it('that came back in a later version, before its deletion was handled, is there', async () => {
    const { user, actor } = await two();
    const uri = newReviewUri(actor);
    const remove = activity(actor, 'Delete', { object: { id: uri, type: 'Tombstone', version: 2 }, version: 2 });
    const back = activity(actor, 'Create', { object: note(actor, uri, 3), version: 3 });
    for (const one of [remove, back]) await keep(user, one);
    await handle(user, remove);
    await handle(user, back);
    expect(await state(uri)).toMatchObject([{ version: 3, deleted: false, comment: 'version 3' }]);
  });

  it('has one event for each change, however often it is told', async () => {
    const { user, actor } = await two();
    const uri = newReviewUri(actor);
    const create = activity(actor, 'Create', { object: note(actor, uri, 1) });
    const remove = activity(actor, 'Delete', { object: { id: uri, type: 'Tombstone', version: 2 }, version: 2 });
    for (const one of [create, remove]) {
      await keep(user, one);
      await handle(user, one);
      await Promise.all([handle(user, one), handle(user, one), handle(user, create)]);
    }
    expect(await eventsAbout('reviewUri', uri)).toEqual([
      { type: 'RemoteReviewSaved', version: 1 },
      { type: 'RemoteReviewRemoved', version: 2 },
    ]);
  });

  it('is not taken over by another actor of the same instance, nor removed by it', async () => {
    const { user, actor } = await two();
    const { actor: thief } = await two();
    const uri = newReviewUri(actor);
    const object = { id: uri, type: 'Tombstone', version: 9 };
    for (const one of [
      activity(actor, 'Create', { object: note(actor, uri, 1) }),
      activity(thief, 'Update', { object: note(thief, uri, 8), version: 8 }),
      activity(thief, 'Delete', { object, version: 9 }),
    ]) {
      await keep(user, one);
      await handle(user, one);
    }
    expect(await diary.repositories.remoteReviews.find(uri)).toMatchObject({ actor: actor.id, version: 1 });
    expect(await eventsAbout('reviewUri', uri)).toEqual([{ type: 'RemoteReviewSaved', version: 1 }]);
  });

  it('stands in the feed of those who follow its actor and do not block it', async () => {
    const { user, actor } = await two();
    const uri = newReviewUri(actor);
    const create = activity(actor, 'Create', { object: note(actor, uri, 1) });
    await keep(user, create);
    await handle(user, create);
    const feed = () => diary.request<{ uri: string }[]>('GET', `/users/${user.name}/feed`);
    expect(await feed()).toEqual([]);
    await followActor({ ...diary.repositories, origin: diary.origin }, { userId: user.id, actor: actor.id });
    const accept = acceptOf(actor, `${diary.origin}/users/${user.name}`, 1);
    await keep(user, accept);
    await handle(user, accept);
    expect(await feed()).toMatchObject([{ uri, film: { number: 7, title: 'The Third Man' }, watchedOn: '2024-02-01' }]);
    await blockActor(diary.repositories.blocks, { userId: user.id, actor: actor.id });
    expect(await feed()).toEqual([]);
  });
});

function acceptOf(actor: { id: string }, follower: string, version: number): Sent {
  return activity(actor, 'Accept', { object: { type: 'Follow', actor: follower, object: actor.id, version }, version });
}

describe('a follower', () => {
  const state = (user: User) => rowsOf('SELECT active, version FROM remote_followers WHERE user_id = $1', user.id);
  const newFollower = async () => {
    const { user, actor, self } = await two();
    const follow = (version: number) => activity(actor, 'Follow', { object: self, version });
    const undo = (original: Sent, version: number) => activity(actor, 'Undo', { object: original, version });
    return { user, actor, self, follow, undo };
  };

  it('ends followed again in whatever order Follow, Undo and Follow arrive, and is accepted once', async () => {
    await converge(
      4,
      async () => {
        const { user, follow, undo } = await newFollower();
        const first = follow(1);
        const sent = [first, undo(first, 2), follow(3)];
        return {
          user,
          sent,
          state: async () => {
            const events = await eventsAbout('userId', user.id);
            return [await state(user), events.filter(({ version }) => version === 3)];
          },
        };
      },
      [[{ active: true, version: 3 }], [{ type: 'RemoteFollowerAccepted', version: 3 }]],
    );
  }, 120_000);

  it('who has left stays away, though the Follow comes after its Undo, without an event', async () => {
    const { user, follow, undo } = await newFollower();
    const first = follow(1);
    for (const one of [undo(first, 2), first]) {
      await keep(user, one);
      await handle(user, one);
    }
    expect(await state(user)).toEqual([{ active: false, version: 2 }]);
    expect(await eventsAbout('userId', user.id)).toEqual([]);
  });

  it('of somebody else is no follower of the user whose inbox it came to', async () => {
    const { user, actor } = await newFollower();
    const stray = activity(actor, 'Follow', { object: `${diary.origin}/users/somebody` });
    await keep(user, stray);
    await handle(user, stray);
    expect(await state(user)).toEqual([]);
  });

  it('who was blocked before the Follow was handled is not let in, nor when the block is over', async () => {
    const { user, actor, follow } = await newFollower();
    const relation = { userId: user.id, actor: actor.id };
    const first = follow(1);
    await keep(user, first);
    await blockActor(diary.repositories.blocks, relation);
    await handle(user, first);
    await unblockActor(diary.repositories.blocks, relation);
    await handle(user, first);
    expect(await state(user)).toEqual([{ active: false, version: 1 }]);
    const again = follow(3);
    await keep(user, again);
    await handle(user, again);
    expect(await state(user)).toEqual([{ active: true, version: 3 }]);
  });

  it('is never in force beside a block, when both begin at the same time', async () => {
    for (let round = 0; round < 20; round++) {
      const { user, actor, follow } = await newFollower();
      const first = follow(1);
      await keep(user, first);
      await Promise.all([
        handle(user, first),
        blockActor(diary.repositories.blocks, { userId: user.id, actor: actor.id }),
      ]);
      expect(await state(user)).toEqual([{ active: false, version: 1 }]);
      expect(await diary.repositories.remoteFollowers.inboxesOf(user.id)).toEqual([]);
    }
  });
});

describe('a follow of an actor there', () => {
  const following = (user: User, actor: { id: string }) => diary.repositories.remoteFollowings.find(user.id, actor.id);
  const ask = async () => {
    const { user, actor, self } = await two();
    const relation = { userId: user.id, actor: actor.id };
    const follow = () => followActor({ ...diary.repositories, origin: diary.origin }, relation);
    await follow();
    return { user, actor, self, relation, follow };
  };

  it('is accepted once, however often the answer comes', async () => {
    const { user, actor, self } = await ask();
    const accept = acceptOf(actor, self, 1);
    await keep(user, accept);
    await handle(user, accept);
    await Promise.all([handle(user, accept), handle(user, accept)]);
    expect(await following(user, actor)).toMatchObject({ state: 'accepted', version: 1 });
    expect(await eventsAbout('userId', user.id)).toEqual([
      { type: 'RemoteFollowRequested', version: 1 },
      { type: 'RemoteFollowAccepted', version: 1 },
    ]);
  });

  it('is not accepted by the answer to an earlier one, to another user’s, or when it has ended', async () => {
    const { user, actor, self, relation, follow } = await ask();
    const late = acceptOf(actor, self, 1);
    await keep(user, late);
    await unfollowActor(diary.repositories.remoteFollowings, relation);
    await handle(user, late);
    expect(await following(user, actor)).toMatchObject({ state: 'ended', version: 2 });
    await follow();
    const stray = acceptOf(actor, `${diary.origin}/users/somebody`, 3);
    await keep(user, stray);
    for (const one of [late, stray]) await handle(user, one);
    expect(await following(user, actor)).toMatchObject({ state: 'requested', version: 3 });
  });

  it('ends when the actor blocks the user, in whatever order the block and its end arrive', async () => {
    await converge(
      4,
      async () => {
        const { user, actor, self } = await ask();
        const block = activity(actor, 'Block', { object: self });
        const sent = [block, activity(actor, 'Undo', { object: block, version: 2 })];
        return { user, sent, state: () => following(user, actor).then((found) => found?.state) };
      },
      'ended',
    );
  }, 120_000);

  it('that was asked for anew is not ended by an old block that comes again', async () => {
    const { user, actor, self, follow } = await ask();
    const block = activity(actor, 'Block', { object: self });
    await keep(user, block);
    await handle(user, block);
    await follow();
    await handle(user, block);
    expect(await following(user, actor)).toMatchObject({ state: 'requested', version: 3 });
  });
});

it('an Accept does not stand in the way of a block of the same actor', async () => {
  const { user, actor, self } = await two();
  await followActor({ ...diary.repositories, origin: diary.origin }, { userId: user.id, actor: actor.id });
  const asked = { type: 'Follow', actor: self, object: actor.id, version: 1 };
  const sent = [activity(actor, 'Accept', { object: asked }), activity(actor, 'Follow', { object: self })];
  for (const one of sent) await keep(user, one);
  // Both in one transaction, as a worker may run them; the block comes between them.
  const [accept, follow] = sent.map(({ id }) => handled(RemoteActivityReceived, { activityId: id, userId: user.id }));
  const transaction = await openTransaction(diary.pool, handlers, 'inbound-activity');
  await transaction.run(accept!);
  const blocked = blockActor(diary.repositories.blocks, { userId: user.id, actor: actor.id });
  void blocked.catch(() => undefined);
  await eventually(
    async () => {
      const { rows } = await diary.pool.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rows.length === 1;
    },
    30_000,
    'the block that waits',
  );
  await transaction.run(follow!);
  await transaction.end('COMMIT');
  await blocked;
  expect(await diary.repositories.remoteFollowers.find(user.id, actor.id)).toMatchObject({ active: false });
  expect(await diary.repositories.remoteFollowings.find(user.id, actor.id)).toMatchObject({ state: 'ended' });
});

describe('a reaction', () => {
  it.each<[string, string, (actor: { id: string }) => object, string]>([
    ['like', 'Like', () => ({ object: `${THERE}/reviews/1` }), `${THERE}/reviews/1`],
    ['announce', 'Announce', () => ({ object: `${THERE}/reviews/1` }), `${THERE}/reviews/1`],
    [
      'watchlist',
      'Add',
      ({ id }) => ({ object: { type: 'Film', number: 7, title: 'The Third Man' }, target: `${id}/watchlist` }),
      filmOf(7, 'The Third Man').id,
    ],
  ])(
    'of the kind %s ends as its last version in whatever order it, its Undo and it again arrive',
    async (...row) => {
      const [kind, type, object, expected] = row;
      await converge(
        4,
        async () => {
          const { user, actor } = await two();
          const first = activity(actor, type, object(actor));
          const sent = [
            first,
            activity(actor, 'Undo', { object: first, version: 2 }),
            activity(actor, type, { ...object(actor), version: 3 }),
          ];
          const state = () =>
            rowsOf('SELECT kind, object, active, version FROM remote_reactions WHERE actor = $1', actor.id);
          return { user, sent, state };
        },
        [{ kind, object: expected, active: true, version: 3 }],
      );
    },
    120_000,
  );

  it('that was taken back before it arrived stays taken back', async () => {
    const { user, actor } = await two();
    const object = `${diary.origin}/reviews/${randomUUID()}`;
    const like = activity(actor, 'Like', { object });
    const undo = activity(actor, 'Undo', { object: like, version: 2 });
    for (const one of [undo, like]) {
      await keep(user, one);
      await handle(user, one);
    }
    expect(await diary.request('GET', `/remote-reactions?review=${encodeURIComponent(object)}`)).toEqual([]);
  });
});

it('news of an actor end as the last of each kind in whatever order they arrive', async () => {
  await converge(
    4,
    async () => {
      const { user, actor } = await two();
      const person = (name: string, movedTo: string | null) => ({ id: actor.id, type: 'Person', name, movedTo });
      const target = `${THERE}/users/new`;
      const sent = [
        activity(actor, 'Update', { object: person('second', null), version: 2 }),
        activity(actor, 'Move', { object: actor.id, target, version: 3 }),
        activity(actor, 'Update', { object: person('fourth', target), version: 4 }),
      ];
      const state = () =>
        rowsOf('SELECT display_name AS name, moved_to AS target FROM remote_actors WHERE uri = $1', actor.id);
      return { user, sent, state };
    },
    [{ name: 'fourth', target: `${THERE}/users/new` }],
  );
}, 120_000);

it('a move that overtakes an earlier change of the name leaves it its name', async () => {
  const { user, actor } = await two();
  const target = `${THERE}/users/new`;
  const move = activity(actor, 'Move', { object: actor.id, target, version: 3 });
  const rename = activity(actor, 'Update', {
    object: { id: actor.id, type: 'Person', name: 'second', movedTo: null },
    version: 2,
  });
  for (const one of [move, rename]) {
    await keep(user, one);
    await handle(user, one);
  }
  expect(await new PostgresStoredActors(diary.connection).find(actor.id)).toMatchObject({
    displayName: 'second',
    movedTo: target,
  });
});

it('an activity that is not there any more changes nothing', async () => {
  const { user, actor } = await two();
  await handle(user, activity(actor, 'Follow', { object: `${diary.origin}/users/${user.name}` }));
  await handle(user, activity(actor, 'Create', { object: note(actor, newReviewUri(actor), 1) }));
  expect(await eventsAbout('userId', user.id)).toEqual([]);
});
