import { randomUUID } from 'node:crypto';
import { actorUri, type Activity } from '../src/domain/activity';
import { filmOf } from '../src/domain/film';
import { PostgresRemoteFollowers } from '../src/adapters/postgres/remoteFollowers';
import { ProfileUpdated } from '../src/events/accounts';
import { ActorBlocked, RemoteFollowerAccepted } from '../src/events/follows';
import { ReviewAnnounced, ReviewLiked, ReviewUnliked } from '../src/events/reactions';
import { ReviewDeleted, ReviewLogged } from '../src/events/reviews';
import { WatchlistEntryAdded, WatchlistEntryRemoved } from '../src/events/watchlist';
import type { HandledEvent, Handler } from 'temporal-outbox';
import { TestDiary } from './support/diary';
import { RemoteInstance } from './support/remoteInstance';
import { handled, runHandler } from './support/runHandler';

const FILM = filmOf(7, 'The Third Man');

let diary: TestDiary;
let there: RemoteInstance;
let handlers: Handler[];

beforeAll(async () => {
  diary = await TestDiary.create();
  there = await RemoteInstance.start();
  diary.outbox.onClose(() => there.close());
  handlers = diary.handlers();
});
afterAll(() => diary.close());

const run = (event: HandledEvent) => runHandler(handlers, 'outgoing-activity', event, diary.pool);

async function followed(): Promise<{ id: string; name: string; inbox: string }> {
  const user = await diary.user();
  const { id, inbox } = there.actor(`f_${user.name}`);
  await new PostgresRemoteFollowers(diary.connection).save(user.id, { actor: id, inbox, active: true, version: 1 }, []);
  return { ...user, inbox };
}

interface Told {
  readonly body: Activity;
  readonly inboxes: string[];
}

/** What a user tells, in the order of its versions. */
async function toldBy(userId: string): Promise<Told[]> {
  const { rows } = await diary.pool.query<Told>(
    `SELECT body, array(SELECT inbox FROM activity_deliveries WHERE activity_id = id ORDER BY inbox) AS inboxes
       FROM activities WHERE user_id = $1 ORDER BY body -> 'version', type`,
    [userId],
  );
  return rows;
}

async function requests(inbox: string): Promise<number> {
  const { rows } = await diary.outbox.db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM :schema.event_queue
      WHERE event_type = 'ActivityDeliveryRequested' AND payload ->> 'inbox' = $1`,
    [inbox],
  );
  return rows[0]?.count ?? 0;
}

async function logged(user: { id: string; name: string }) {
  const reviewId = randomUUID();
  const content = { rating: 9, comment: 'Zither!', watchedOn: '2024-02-01' };
  const film = { number: FILM.number, title: FILM.title };
  await diary.request('PUT', `/users/${user.name}/reviews/${reviewId}`, { film, ...content });
  const payload = { reviewId, userId: user.id, filmId: FILM.id, version: 1 };
  return { reviewId, payload, event: handled(ReviewLogged, { ...payload, ...content }) };
}

it('a review is told to the follower, and told again it is one activity, one delivery and one event', async () => {
  const user = await followed();
  const { reviewId, event } = await logged(user);
  await run(event);
  const first = await toldBy(user.id);
  await run(event);
  expect(await toldBy(user.id)).toEqual(first);
  expect(first).toMatchObject([
    {
      body: {
        type: 'Create',
        actor: actorUri(diary.origin, user.name),
        published: event.occurredAt,
        object: { id: `${diary.origin}/reviews/${reviewId}`, type: 'Note', film: { number: 7 }, comment: 'Zither!' },
      },
      inboxes: [user.inbox],
    },
  ]);
  expect(await requests(user.inbox)).toBe(1);
});

it('told twice at once it is one activity, one delivery and one event', async () => {
  const user = await followed();
  const { event } = await logged(user);
  await Promise.all([run(event), run(event), run(event)]);
  expect(await toldBy(user.id)).toHaveLength(1);
  expect(await requests(user.inbox)).toBe(1);
});

it('a follower who is new at the second time has a delivery, and the others none', async () => {
  const user = await followed();
  const { event } = await logged(user);
  await run(event);
  const late = there.actor(`late_${user.name}`);
  const followers = new PostgresRemoteFollowers(diary.connection);
  await followers.save(user.id, { actor: late.id, inbox: late.inbox, active: true, version: 1 }, []);
  await run(event);
  expect(await requests(user.inbox)).toBe(1);
  expect(await requests(late.inbox)).toBe(1);
});

it('of a review that was deleted meanwhile only the deletion is told', async () => {
  const user = await followed();
  const { reviewId, payload, event } = await logged(user);
  await diary.request('DELETE', `/users/${user.name}/reviews/${reviewId}`);
  await run(event);
  await run(handled(ReviewDeleted, { ...payload, version: 2 }));
  expect(await toldBy(user.id)).toMatchObject([
    { body: { type: 'Delete', object: { type: 'Tombstone', version: 2 } }, inboxes: [user.inbox] },
  ]);
});

it('whoever was told of a review is told of its end, also when they follow no more', async () => {
  const user = await followed();
  const { payload, event } = await logged(user);
  await run(event);
  await diary.pool.query('UPDATE remote_followers SET active = false WHERE user_id = $1', [user.id]);
  await run(handled(ReviewDeleted, { ...payload, version: 2 }));
  expect(await toldBy(user.id)).toMatchObject([{}, { body: { type: 'Delete' }, inboxes: [user.inbox] }]);
});

it('of a review that was deleted nothing is left in what was told', async () => {
  const user = await followed();
  const { reviewId, payload, event } = await logged(user);
  await run(event);
  await diary.request('DELETE', `/users/${user.name}/reviews/${reviewId}`);
  await run(handled(ReviewDeleted, { ...payload, version: 2 }));
  const told = await toldBy(user.id);
  expect(told.map(({ body }) => body.type)).toEqual(['Create', 'Delete']);
  expect(JSON.stringify(told)).not.toMatch(/comment|rating|Third Man/);
});

it('an Undo waits for what it takes back, and holds the whole of it', async () => {
  const user = await followed();
  const entry = { userId: user.id, filmId: FILM.id, number: FILM.number, title: FILM.title };
  const removed = handled(WatchlistEntryRemoved, { ...entry, version: 2 });
  await expect(run(removed)).rejects.toThrow('has not been kept yet');
  await run(handled(WatchlistEntryAdded, { ...entry, version: 1 }));
  await run(removed);
  const [add, undo] = await toldBy(user.id);
  expect(undo?.body).toMatchObject({ type: 'Undo', object: add?.body });
  expect(undo?.inboxes).toEqual([user.inbox]);
});

it('a reaction goes to the author elsewhere, an announcement to the followers too, its Undo to whoever had it', async () => {
  const user = await followed();
  const author = there.actor(`a_${user.name}`);
  const reviewUri = `${there.origin}/reviews/${randomUUID()}`;
  await diary.pool.query(
    `INSERT INTO remote_reviews (uri, actor, film_number, film_title, rating, watched_on, version)
     VALUES ($1, $2, 7, 'The Third Man', 8, '2024-02-01', 1)`,
    [reviewUri, author.id],
  );
  await run(handled(ReviewLiked, { userId: user.id, reviewUri, version: 1 }));
  await run(handled(ReviewUnliked, { userId: user.id, reviewUri, version: 2 }));
  await run(handled(ReviewAnnounced, { userId: user.id, reviewUri, version: 3 }));
  expect(await toldBy(user.id)).toMatchObject([
    { body: { type: 'Like', object: reviewUri }, inboxes: [author.inbox] },
    { body: { type: 'Undo' }, inboxes: [author.inbox] },
    { body: { type: 'Announce', object: reviewUri }, inboxes: [author.inbox, user.inbox].sort() },
  ]);
});

it('a like of a review of this instance is kept, and sent to nobody', async () => {
  const user = await followed();
  const { reviewId } = await logged(user);
  await run(handled(ReviewLiked, { userId: user.id, reviewUri: `${diary.origin}/reviews/${reviewId}`, version: 1 }));
  expect(await toldBy(user.id)).toMatchObject([{ body: { type: 'Like' }, inboxes: [] }]);
});

it('a change of the profile says what was true then, whatever has changed since', async () => {
  const user = await followed();
  await diary.request('PUT', `/users/${user.name}`, { displayName: 'Second' });
  await diary.request('PUT', `/users/${user.name}`, { displayName: 'Third' });
  await run(handled(ProfileUpdated, { userId: user.id, displayName: 'Second', movedTo: null, version: 2 }));
  expect(await toldBy(user.id)).toMatchObject([
    { body: { type: 'Update', version: 2, object: { type: 'Person', name: 'Second', version: 2 } } },
  ]);
});

it('an Accept and a Block go to their actor alone', async () => {
  const user = await followed();
  const { id: actor, inbox } = there.actor(`b_${user.name}`);
  await run(handled(RemoteFollowerAccepted, { userId: user.id, actor, version: 3 }));
  await run(handled(ActorBlocked, { userId: user.id, actor, version: 4 }));
  expect(await toldBy(user.id)).toMatchObject([
    { body: { type: 'Accept', object: { type: 'Follow', actor } }, inboxes: [inbox] },
    { body: { type: 'Block', object: actor }, inboxes: [inbox] },
  ]);
});

it('an actor whose instance does not answer leaves nothing behind', async () => {
  const user = await followed();
  const actor = `${there.origin}/users/nobody`;
  await expect(run(handled(ActorBlocked, { userId: user.id, actor, version: 1 }))).rejects.toThrow('answered 404');
  expect(await toldBy(user.id)).toEqual([]);
});

describe('the documents', () => {
  const get = async (url: string) => {
    const answer = await fetch(`${diary.origin}${url}`);
    return { status: answer.status, type: answer.headers.get('content-type'), body: (await answer.json()) as object };
  };

  it('a user answers as an actor, and webfinger finds it', async () => {
    const { name } = await diary.user();
    const id = actorUri(diary.origin, name);
    expect(await get(`/users/${name}`)).toMatchObject({
      status: 200,
      type: expect.stringContaining('application/activity+json') as string,
      body: { id, type: 'Person', inbox: `${id}/inbox`, publicKey: { id: `${id}#main-key`, owner: id }, version: 1 },
    });
    const host = encodeURIComponent(new URL(diary.origin).host);
    const found = await get(`/.well-known/webfinger?resource=acct:${name}@${host}`);
    expect(found).toMatchObject({ status: 200, body: { links: [{ rel: 'self', href: id }] } });
    expect(await get(`/.well-known/webfinger?resource=acct:${name}@elsewhere.example`)).toMatchObject({ status: 404 });
    expect(await get(`/.well-known/webfinger?resource=nonsense`)).toMatchObject({ status: 400 });
  });

  it('a review answers as the note that was sent, and as a tombstone when it was deleted', async () => {
    const user = await followed();
    const { reviewId, event } = await logged(user);
    await run(event);
    const [create] = await toldBy(user.id);
    expect(await get(`/reviews/${reviewId}`)).toMatchObject({ status: 200, body: create?.body.object as object });
    await diary.request('DELETE', `/users/${user.name}/reviews/${reviewId}`);
    expect(await get(`/reviews/${reviewId}`)).toMatchObject({ status: 410, body: { type: 'Tombstone', version: 2 } });
    expect(await get(`/reviews/${randomUUID()}`)).toMatchObject({ status: 404 });
  });

  it('an activity answers as it was sent, but for a block, which is the user’s own business', async () => {
    const user = await followed();
    await run((await logged(user)).event);
    const { id: actor } = there.actor(`c_${user.name}`);
    await run(handled(ActorBlocked, { userId: user.id, actor, version: 1 }));
    const told = await toldBy(user.id);
    const of = (type: string) => told.find(({ body }) => body.type === type)?.body as Activity;
    expect((await get(new URL(of('Create').id).pathname)).body).toEqual(of('Create'));
    expect(await get(new URL(of('Block').id).pathname)).toMatchObject({ status: 404 });
  });
});
