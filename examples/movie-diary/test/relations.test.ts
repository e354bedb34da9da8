import { randomUUID } from 'node:crypto';
import { acceptFollower } from '../src/useCases/acceptFollower';
import { saveRemoteReview } from '../src/useCases/saveRemoteReview';
import { TestDiary } from './support/diary';

const ACTOR = 'https://there.example/users/anna';

let diary: TestDiary;
let user: { id: string; name: string };

beforeAll(async () => {
  diary = await TestDiary.create();
});
afterAll(() => diary.close());
beforeEach(async () => {
  user = await diary.user();
});

const encoded = (uri: string) => encodeURIComponent(uri);

/** Each request twice, as by a client whose answer was lost. */
async function twice(method: 'PUT' | 'DELETE', path: string, body?: object): Promise<void> {
  for (let round = 0; round < 2; round++) await diary.request(method, `/users/${user.name}${path}`, body);
}

async function eventsOf(userId: string): Promise<string[]> {
  const { rows } = await diary.outbox.db.query<{ told: string }>(
    `SELECT event_type || ' ' || (payload ->> 'version') AS told FROM :schema.event_queue
      WHERE $1 IN (payload ->> 'userId', payload ->> 'followerId') AND payload ? 'version' ORDER BY id`,
    [userId],
  );
  return rows.map(({ told }) => told);
}

it('a follow between users begins and ends once for each time it is wanted', async () => {
  const { name } = await diary.user();
  for (let round = 0; round < 2; round++) {
    await twice('PUT', `/follows/${name}`);
    await twice('DELETE', `/follows/${name}`);
  }
  expect(await eventsOf(user.id)).toEqual(['UserFollowed 1', 'UserUnfollowed 2', 'UserFollowed 3', 'UserUnfollowed 4']);
});

it('a follow of an actor elsewhere is asked for and ended once for each time it is wanted', async () => {
  for (let round = 0; round < 2; round++) {
    await twice('PUT', '/remote-follows', { actor: ACTOR });
    await twice('DELETE', `/remote-follows?actor=${encoded(ACTOR)}`);
  }
  expect(await eventsOf(user.id)).toEqual([
    'RemoteFollowRequested 1',
    'RemoteFollowEnded 2',
    'RemoteFollowRequested 3',
    'RemoteFollowEnded 4',
  ]);
});

it('a block ends the follows in both directions, and its end brings none of them back', async () => {
  await acceptFollower(diary.repositories.remoteFollowers, {
    ...{ userId: user.id, actor: ACTOR, inbox: `${ACTOR}/inbox`, version: 1 },
  });
  await twice('PUT', '/remote-follows', { actor: ACTOR });
  await twice('PUT', '/blocks', { actor: ACTOR });
  await twice('DELETE', `/blocks?actor=${encoded(ACTOR)}`);
  expect(await eventsOf(user.id)).toEqual([
    'RemoteFollowerAccepted 1',
    'RemoteFollowRequested 1',
    'ActorBlocked 1',
    'RemoteFollowerRemoved 1',
    'RemoteFollowEnded 2',
    'ActorUnblocked 2',
  ]);
  expect(await diary.repositories.remoteFollowers.find(user.id, ACTOR)).toMatchObject({ active: false });
});

it('a follower who is removed is removed once', async () => {
  await acceptFollower(diary.repositories.remoteFollowers, {
    ...{ userId: user.id, actor: ACTOR, inbox: `${ACTOR}/inbox`, version: 1 },
  });
  await twice('DELETE', `/remote-followers?actor=${encoded(ACTOR)}`);
  expect(await eventsOf(user.id)).toEqual(['RemoteFollowerAccepted 1', 'RemoteFollowerRemoved 1']);
});

it('a reaction to a review of any instance begins and ends once for each time it is wanted', async () => {
  const uri = `https://there.example/reviews/${randomUUID()}`;
  const film = { number: 7, title: 'The Third Man' };
  const content = { film, rating: 9, comment: null, watchedOn: '2024-02-01' };
  await saveRemoteReview(diary.repositories.remoteReviews, { uri, actor: ACTOR, ...content, version: 1 });
  const reviewId = randomUUID();
  const { name } = await diary.user();
  await diary.request('PUT', `/users/${name}/reviews/${reviewId}`, content);
  for (const review of [uri, `${diary.origin}/reviews/${reviewId}`])
    for (const path of ['/likes', '/announcements']) {
      await twice('PUT', path, { review });
      await twice('DELETE', `${path}?review=${encoded(review)}`);
    }
  const each = ['ReviewLiked 1', 'ReviewUnliked 2', 'ReviewAnnounced 1', 'ReviewUnannounced 2'];
  expect(await eventsOf(user.id)).toEqual([...each, ...each]);
});

it.each<[string, string, (name: string) => [string, object?], string]>([
  ['a follow of oneself', 'PUT', (name) => [`/follows/${name}`], 'answered 400.*do not follow themselves'],
  ['a follow of nobody', 'PUT', () => ['/follows/nobody'], 'answered 404'],
  [
    'a remote follow of a local actor',
    'PUT',
    (name) => ['/remote-follows', { actor: `${diary.origin}/users/${name}` }],
    'answered 400.*of this instance',
  ],
  ['a remote follow of no URL', 'PUT', () => ['/remote-follows', { actor: 'anna' }], 'answered 400.*field actor'],
  [
    'a like of an unknown review',
    'PUT',
    () => ['/likes', { review: 'https://there.example/reviews/1' }],
    'answered 404.*no such review',
  ],
  [
    'a like of an unknown review of this instance',
    'PUT',
    () => ['/likes', { review: `${diary.origin}/reviews/1` }],
    'answered 404.*no such review',
  ],
])('%s is refused', async (_, method, asked, reason) => {
  const [path, body] = asked(user.name);
  await expect(diary.request(method as 'PUT', `/users/${user.name}${path}`, body)).rejects.toThrow(new RegExp(reason));
  expect(await eventsOf(user.id)).toEqual([]);
});

it('an actor who is blocked is not followed', async () => {
  await twice('PUT', '/blocks', { actor: ACTOR });
  await expect(twice('PUT', '/remote-follows', { actor: ACTOR })).rejects.toThrow(/answered 409.*blocked/);
});
