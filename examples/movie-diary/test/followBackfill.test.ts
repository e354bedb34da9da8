import { randomUUID } from 'node:crypto';
import type { Handler } from 'temporal-outbox';
import { RemoteFollowerAccepted } from '../src/events/follows';
import { acceptFollower } from '../src/useCases/acceptFollower';
import { blockActor } from '../src/useCases/blockActor';
import { changeProfile } from '../src/useCases/changeProfile';
import { deleteReview } from '../src/useCases/deleteReview';
import { editReview } from '../src/useCases/editReview';
import { followerLeft } from '../src/useCases/followerLeft';
import { logReview } from '../src/useCases/logReview';
import { registerUser } from '../src/useCases/registerUser';
import { TestDiary } from './support/diary';
import { openTransaction } from './support/openTransaction';
import { handled, runHandler } from './support/runHandler';

let diary: TestDiary;
let handlers: Handler[];

beforeAll(async () => {
  diary = await TestDiary.create();
  handlers = diary.handlers();
});
afterAll(() => diary.close());

/** A user with two reviews, one of them edited, and a follower of another instance. */
async function followed() {
  const { reviews, users, remoteFollowers } = diary.repositories;
  const name = `u${randomUUID().slice(0, 8)}`;
  const { user } = await registerUser(users, { name, displayName: name });
  const log = async (reviewId = randomUUID()) => {
    const review = { reviewId, userId: user.id, film: { number: 7, title: 'The Third Man' }, rating: 7, comment: null };
    await logReview(reviews, { ...review, watchedOn: '2024-02-01' });
    return reviewId;
  };
  const [plain, edited] = [await log(), await log()];
  await editReview(reviews, { reviewId: edited, userId: user.id, edit: { rating: 9 } });
  const actor = `https://there.example/users/a${randomUUID().slice(0, 8)}`;
  const relation = { userId: user.id, actor, inbox: `${actor}/inbox` };
  await acceptFollower(remoteFollowers, { ...relation, version: 1 });
  const event = handled(RemoteFollowerAccepted, { userId: user.id, actor, version: 1 });
  const backfill = () => runHandler(handlers, 'follow-backfill', event, diary.pool);
  return { user, relation, plain, edited, log, backfill };
}

/** What was asked to be sent to an inbox, and how many events ask for it. */
async function sentTo(inbox: string): Promise<{ told: string[]; events: number }> {
  const { rows } = await diary.pool.query<{ told: string }>(
    `SELECT concat_ws(' ', a.type, split_part(a.body -> 'object' ->> 'id', '/reviews/', 2), a.body ->> 'version') AS told
       FROM activity_deliveries d JOIN activities a ON a.id = d.activity_id WHERE d.inbox = $1`,
    [inbox],
  );
  const { rows: events } = await diary.outbox.db.query(
    `SELECT FROM :schema.event_queue WHERE event_type = 'ActivityDeliveryRequested' AND payload ->> 'inbox' = $1`,
    [inbox],
  );
  return { told: rows.map(({ told }) => told).sort(), events: events.length };
}

it('a new follower is sent each review as it is now, once, however often the handler runs', async () => {
  const { relation, plain, edited, backfill } = await followed();
  await backfill();
  const once = { told: [`Create ${plain} 1`, `Create ${edited} 2`].sort(), events: 2 };
  expect(await sentTo(relation.inbox)).toEqual(once);
  await backfill();
  expect(await sentTo(relation.inbox)).toEqual(once);
});

it('a new follower is told a profile that was changed before, once, as its instance may have looked at it before that', async () => {
  const { user, relation, backfill } = await followed();
  await changeProfile(diary.repositories.users, user, 'Another name');
  await backfill();
  await backfill();
  const { told, events } = await sentTo(relation.inbox);
  expect(told.filter((each) => each.startsWith('Update'))).toHaveLength(1);
  expect(events).toBe(3);
});

it('two that run at once send each review once', async () => {
  const { relation, backfill } = await followed();
  await Promise.all([backfill(), backfill(), backfill()]);
  expect(await sentTo(relation.inbox)).toMatchObject({ told: { length: 2 }, events: 2 });
});

it('a review that was deleted meanwhile is not sent, and one that was logged since is', async () => {
  const { user, relation, plain, edited, log, backfill } = await followed();
  await deleteReview(diary.repositories, { reviewId: plain, userId: user.id });
  const late = await log();
  await backfill();
  expect((await sentTo(relation.inbox)).told).toEqual([`Create ${late} 1`, `Create ${edited} 2`].sort());
});

it('a follower who has left meanwhile is sent nothing', async () => {
  const { relation, backfill } = await followed();
  await followerLeft(diary.repositories.remoteFollowers, { ...relation, version: 2 });
  await backfill();
  expect(await sentTo(relation.inbox)).toEqual({ told: [], events: 0 });
});

it('a follower who was blocked meanwhile is sent nothing', async () => {
  const { relation, backfill } = await followed();
  await blockActor(diary.repositories.blocks, relation);
  await backfill();
  expect(await sentTo(relation.inbox)).toEqual({ told: [], events: 0 });
});

it('a follower who comes back is sent what is new or edited since, and nothing twice', async () => {
  const { user, relation, plain, edited, log, backfill } = await followed();
  const { remoteFollowers, reviews } = diary.repositories;
  await backfill();
  await followerLeft(remoteFollowers, { ...relation, version: 2 });
  await editReview(reviews, { reviewId: plain, userId: user.id, edit: { rating: 1 } });
  const late = await log();
  await acceptFollower(remoteFollowers, { ...relation, version: 3 });
  await backfill();
  const told = [`Create ${plain} 1`, `Create ${edited} 2`, `Create ${plain} 2`, `Create ${late} 1`].sort();
  expect(await sentTo(relation.inbox)).toEqual({ told, events: 4 });
});

it('a back-fill that is told to stop does so between two reviews, and leaves nothing behind', async () => {
  const { user, relation } = await followed();
  const event = handled(RemoteFollowerAccepted, { userId: user.id, actor: relation.actor, version: 1 });
  const transaction = await openTransaction(diary.pool, handlers, 'follow-backfill');
  await expect(transaction.run(event, AbortSignal.abort(new Error('Time is up')))).rejects.toThrow('Time is up');
  await transaction.end('ROLLBACK');
  expect(await sentTo(relation.inbox)).toEqual({ told: [], events: 0 });
});
