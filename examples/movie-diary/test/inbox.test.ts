import { HttpRemoteActors } from '../src/adapters/http/remoteActors';
import { HttpSenders } from '../src/adapters/http/senders';
import { pooled } from '../src/adapters/postgres/connection';
import { PostgresStoredActors } from '../src/adapters/postgres/remoteActors';
import { repositories } from '../src/adapters/postgres/repositories';
import { openServerPool } from '../src/adapters/postgres/serverPool';
import type { Actor } from '../src/domain/actor';
import { RemoteFollowerAccepted } from '../src/events/follows';
import { buildServer } from '../src/server/app';
import { acceptFollower } from '../src/useCases/acceptFollower';
import { TestDiary } from './support/diary';
import { RemoteInstance } from './support/remoteInstance';
import { openTransaction } from './support/openTransaction';
import { handled } from './support/runHandler';
import { activity, newReviewUri, newSender, note, post, send, type Sender } from './support/sender';

let diary: TestDiary;
let there: RemoteInstance;
let user: { id: string; name: string };
let sender: Sender;

beforeAll(async () => {
  diary = await TestDiary.create();
  there = await RemoteInstance.start();
  diary.outbox.onClose(() => there.close());
});
afterAll(() => diary.close());
beforeEach(async () => {
  user = await diary.user();
  sender = newSender(there);
});

/** Types of the events of arrival, for this test's user. */
async function arrived(): Promise<string[]> {
  const { rows } = await diary.outbox.db.query<{ type: string }>(
    `SELECT event_type AS type FROM :schema.event_queue WHERE payload ->> 'userId' = $1 AND event_type LIKE 'Remote%' ORDER BY id`,
    [user.id],
  );
  return rows.map(({ type }) => type);
}

async function kept(): Promise<number> {
  const { rows } = await diary.pool.query('SELECT FROM received_activities WHERE user_id = $1', [user.id]);
  return rows.length;
}

const self = () => `${diary.origin}/users/${user.name}`;

async function refused(status: number, reason: RegExp, answer: { status: number; error: string | undefined }) {
  expect(answer).toEqual({ status, error: expect.stringMatching(reason) });
  expect(await kept()).toBe(0);
  expect(await arrived()).toEqual([]);
}

it('an activity is kept with one event, and a repeat of it writes nothing', async () => {
  const follow = activity(sender, 'Follow', { object: self() });
  for (let round = 0; round < 3; round++)
    expect(await post(diary, user.name, sender, follow)).toEqual({ status: 202, error: undefined });
  expect(await kept()).toBe(1);
  expect(await arrived()).toEqual(['RemoteActivityReceived']);
});

it('the same activity sent many times at once is kept once', async () => {
  const follow = activity(sender, 'Follow', { object: self() });
  const answers = await Promise.all(Array.from({ length: 6 }, () => post(diary, user.name, sender, follow)));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 202));
  expect(await kept()).toBe(1);
  expect(await arrived()).toEqual(['RemoteActivityReceived']);
});

it('what is told of a review has an event of its own', async () => {
  const uri = newReviewUri(sender);
  await post(diary, user.name, sender, activity(sender, 'Create', { object: note(sender, uri, 1) }));
  await post(diary, user.name, sender, activity(sender, 'Update', { object: note(sender, uri, 2), version: 2 }));
  const object = { id: uri, type: 'Tombstone', version: 3 };
  await post(diary, user.name, sender, activity(sender, 'Delete', { object, version: 3 }));
  expect(await arrived()).toEqual(['RemoteReviewReceived', 'RemoteReviewReceived', 'RemoteReviewReceived']);
});

it('an activity of a type that is not known here is kept, and means nothing', async () => {
  for (const [type, object] of [
    ['Question', { type: 'Poll' }],
    ['Create', { type: 'Video' }],
    ['Undo', activity(sender, 'Question')],
  ] as const)
    expect((await post(diary, user.name, sender, activity(sender, type, { object }))).status).toBe(202);
  expect(await kept()).toBe(3);
});

it('a request without a signature is refused, and no key is asked for', async () => {
  const body = JSON.stringify(activity(sender, 'Follow', { object: self() }));
  const answer = await send(`${self()}/inbox`, body, { 'content-type': 'application/activity+json' });
  await refused(401, /not signed/, answer);
  expect(there.gets.get(new URL(sender.id).pathname)).toBeUndefined();
});

it('a signature by another key than the actor’s is refused', async () => {
  const { privateKey } = newSender(there);
  await refused(401, /signature/i, await post(diary, user.name, { ...sender, privateKey }, activity(sender, 'Follow')));
});

it('an activity of another actor than the one who signed is refused', async () => {
  const victim = newSender(there);
  await refused(401, /key/, await post(diary, user.name, sender, activity(victim, 'Follow', { object: self() })));
});

it('an activity under an id of another instance is refused, so that nobody uses up ids of others', async () => {
  const elsewhere = { ...activity(sender, 'Follow', { object: self() }), id: 'https://elsewhere.example/activities/1' };
  await refused(403, /instance/, await post(diary, user.name, sender, elsewhere));
});

it.each<[string, (uri: string, victim: Actor) => object]>([
  ['a review of another author', (uri, victim) => ({ type: 'Create', object: note(victim, uri, 1) })],
  [
    'a review of another instance',
    (_, victim) => ({ type: 'Create', object: note(sender, `https://elsewhere.example/reviews/${victim.name}`, 1) }),
  ],
  [
    'the deletion of a review of another instance',
    () => ({
      type: 'Delete',
      object: { id: 'https://elsewhere.example/reviews/1', type: 'Tombstone', version: 9 },
    }),
  ],
  ['the Undo of what another did', (_, victim) => ({ type: 'Undo', object: activity(victim, 'Follow') })],
  ['the move of another', (_, victim) => ({ type: 'Move', object: victim.id, target: sender.id })],
  ['the profile of another', (_, victim) => ({ type: 'Update', object: { ...victim } })],
  [
    'consent in the name of another',
    (_, victim) => ({ type: 'Accept', object: { type: 'Follow', actor: self(), object: victim.id, version: 1 } }),
  ],
])('%s is refused', async (_, forged) => {
  const { type, ...rest } = forged(newReviewUri(sender), newSender(there)) as { type: string };
  await refused(403, /nobody else/, await post(diary, user.name, sender, activity(sender, type, rest)));
});

it('an actor whom the user blocks is refused, and heard again when the block is over', async () => {
  const block = `/users/${user.name}/blocks`;
  await diary.request('PUT', block, { actor: sender.id });
  const follow = activity(sender, 'Follow', { object: self() });
  await refused(403, /takes nothing/, await post(diary, user.name, sender, follow));
  await diary.request('DELETE', `${block}?actor=${encodeURIComponent(sender.id)}`);
  expect((await post(diary, user.name, sender, follow)).status).toBe(202);
});

it.each<[string, () => object | string, RegExp]>([
  ['no JSON', () => '{"id":', /must be an activity, as JSON/],
  ['an empty body', () => '', /must be an activity, as JSON|Body cannot be empty/],
  ['no activity', () => [], /has an id, a type and an actor/],
  ['a Follow of nothing', () => activity(sender, 'Follow'), /Follow cannot be understood: look at object/],
  [
    'a rating of 11',
    () => activity(sender, 'Create', { object: note(sender, newReviewUri(sender), 1, { rating: 11 }) }),
    /look at object\.rating/,
  ],
  ['a version of 0', () => activity(sender, 'Like', { object: sender.id, version: 0 }), /look at version/],
  ['NUL in a text', () => activity(sender, 'Question', { content: 'a\0b' }), /no NUL/],
  ['half a character', () => activity(sender, 'Question', { content: '\ud83d' }), /half characters/],
  [
    'a thousand levels',
    () =>
      JSON.stringify(activity(sender, 'Question', { content: 0 })).replace(
        '"content":0',
        `"content":${'['.repeat(1_000)}${']'.repeat(1_000)}`,
      ),
    /levels deep/,
  ],
])('%s is refused with a sentence', async (_, nonsense, reason) => {
  await refused(400, reason, await post(diary, user.name, sender, nonsense()));
});

it('a body past the limit is refused', async () => {
  const answer = await post(diary, user.name, sender, activity(sender, 'Question', { content: 'x'.repeat(70_000) }));
  await refused(413, /too large/, answer);
});

it('there is no inbox of a user who is not there', async () => {
  expect((await post(diary, 'nobody', sender, activity(sender, 'Follow'))).status).toBe(404);
});

it('a sender whose instance does not answer is told to come again', async () => {
  const id = `http://127.0.0.1:9/users/${sender.name}`;
  const lost = { ...sender, id, publicKey: { ...sender.publicKey, id: `${id}#main-key` } };
  await refused(503, /sent again/, await post(diary, user.name, lost, activity(lost, 'Follow', { object: self() })));
});

it('an actor whose back-fill is under way is heard, and blocked, at once', async () => {
  const relation = { userId: user.id, actor: sender.id, inbox: sender.inbox };
  await acceptFollower(diary.repositories.remoteFollowers, { ...relation, version: 1 });
  const backfill = await openTransaction(diary.pool, diary.handlers(), 'follow-backfill');
  try {
    await backfill.run(handled(RemoteFollowerAccepted, { userId: user.id, actor: sender.id, version: 1 }));
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => post(diary, user.name, sender, activity(sender, 'Question'))),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
    await diary.request('PUT', `/users/${user.name}/blocks`, { actor: sender.id });
  } finally {
    await backfill.end('ROLLBACK');
  }
});

it('a request that waits too long for another transaction is told to come again, and other requests go on', async () => {
  const pool = openServerPool(diary.outbox.database.url);
  const connection = pooled(pool);
  const senders = new HttpSenders(new HttpRemoteActors(new PostgresStoredActors(connection)));
  const server = await buildServer({ ...repositories(connection), origin: diary.origin, senders });
  const client = await diary.pool.connect();
  try {
    const address = await server.listen({ host: '127.0.0.1', port: 0 });
    await client.query('BEGIN');
    await client.query('LOCK TABLE blocks');
    const block = () =>
      fetch(`${address}/users/${user.name}/blocks`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ actor: sender.id }),
      });
    // More than there are connections.
    const answers = await Promise.all(Array.from({ length: 12 }, block));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    expect(await answers[0]?.json()).toEqual({ error: expect.stringMatching(/can be sent again/) });
    expect((await fetch(`${address}/users/${user.name}`)).status).toBe(200);
  } finally {
    await client.query('ROLLBACK');
    client.release();
    await server.close();
    await pool.end();
  }
}, 60_000);
