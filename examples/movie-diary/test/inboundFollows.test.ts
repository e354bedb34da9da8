import { eventually } from '../../../test/support/eventually';
import type { User } from '../src/domain/user';
import { RemoteActivityReceived } from '../src/events/federation';
import { blockActor } from '../src/useCases/blockActor';
import { followActor } from '../src/useCases/followActor';
import { unfollowActor } from '../src/useCases/unfollowActor';
import { openTransaction } from './support/openTransaction';
import { handled } from './support/runHandler';
import { acceptOf, activity } from './support/sender';
import { InboundStage } from './support/inboundStage';

let stage: InboundStage;

beforeAll(async () => {
  stage = await InboundStage.create();
});
afterAll(() => stage.close());

describe('a follow of an actor there', () => {
  const following = (user: User, actor: { id: string }) =>
    stage.diary.repositories.remoteFollowings.find(user.id, actor.id);
  const ask = async () => {
    const { user, actor, self } = await stage.two();
    const relation = { userId: user.id, actor: actor.id };
    const follow = () => followActor({ ...stage.diary.repositories, origin: stage.diary.origin }, relation);
    await follow();
    return { user, actor, self, relation, follow };
  };

  it('is accepted once, however often the answer comes', async () => {
    const { user, actor, self } = await ask();
    const accept = acceptOf(actor, self, 1);
    await stage.keep(user, accept);
    await stage.handle(user, accept);
    await Promise.all([stage.handle(user, accept), stage.handle(user, accept)]);
    expect(await following(user, actor)).toMatchObject({ state: 'accepted', version: 1 });
    expect(await stage.eventsAbout('userId', user.id)).toEqual([
      { type: 'RemoteFollowRequested', version: 1 },
      { type: 'RemoteFollowAccepted', version: 1 },
    ]);
  });

  it('is not accepted by the answer to an earlier one, to another user’s, or when it has ended', async () => {
    const { user, actor, self, relation, follow } = await ask();
    const late = acceptOf(actor, self, 1);
    await stage.keep(user, late);
    await unfollowActor(stage.diary.repositories.remoteFollowings, relation);
    await stage.handle(user, late);
    expect(await following(user, actor)).toMatchObject({ state: 'ended', version: 2 });
    await follow();
    const stray = acceptOf(actor, `${stage.diary.origin}/users/somebody`, 3);
    await stage.keep(user, stray);
    for (const one of [late, stray]) await stage.handle(user, one);
    expect(await following(user, actor)).toMatchObject({ state: 'requested', version: 3 });
  });

  it('ends when the actor blocks the user, in whatever order the block and its end arrive', async () => {
    await stage.converge(
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
    await stage.keep(user, block);
    await stage.handle(user, block);
    await follow();
    await stage.handle(user, block);
    expect(await following(user, actor)).toMatchObject({ state: 'requested', version: 3 });
  });
});

it('an Accept does not stand in the way of a block of the same actor', async () => {
  const { user, actor, self } = await stage.two();
  await followActor({ ...stage.diary.repositories, origin: stage.diary.origin }, { userId: user.id, actor: actor.id });
  const asked = { type: 'Follow', actor: self, object: actor.id, version: 1 };
  const sent = [activity(actor, 'Accept', { object: asked }), activity(actor, 'Follow', { object: self })];
  for (const one of sent) await stage.keep(user, one);
  // Both in one transaction, as a worker may run them; the block comes between them.
  const [accept, follow] = sent.map(({ id }) => handled(RemoteActivityReceived, { activityId: id, userId: user.id }));
  const transaction = await openTransaction(stage.diary.pool, stage.handlers, 'inbound-activity');
  await transaction.run(accept!);
  const blocked = blockActor(stage.diary.repositories.blocks, { userId: user.id, actor: actor.id });
  void blocked.catch(() => undefined);
  await eventually(
    async () => {
      const { rows } = await stage.diary.pool.query(
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
  expect(await stage.diary.repositories.remoteFollowers.find(user.id, actor.id)).toMatchObject({ active: false });
  expect(await stage.diary.repositories.remoteFollowings.find(user.id, actor.id)).toMatchObject({ state: 'ended' });
});
