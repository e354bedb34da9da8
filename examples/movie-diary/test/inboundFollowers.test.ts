import type { User } from '../src/domain/user';
import { blockActor } from '../src/useCases/blockActor';
import { unblockActor } from '../src/useCases/unblockActor';
import { activity, type Sent } from './support/sender';
import { InboundStage } from './support/inboundStage';

let stage: InboundStage;

beforeAll(async () => {
  stage = await InboundStage.create();
});
afterAll(() => stage.close());

describe('a follower', () => {
  const state = (user: User) =>
    stage.rowsOf('SELECT active, version FROM remote_followers WHERE user_id = $1', user.id);
  const newFollower = async () => {
    const { user, actor, self } = await stage.two();
    const follow = (version: number) => activity(actor, 'Follow', { object: self, version });
    const undo = (original: Sent, version: number) => activity(actor, 'Undo', { object: original, version });
    return { user, actor, self, follow, undo };
  };

  it('ends followed again in whatever order Follow, Undo and Follow arrive, and is accepted once', async () => {
    await stage.converge(
      4,
      async () => {
        const { user, follow, undo } = await newFollower();
        const first = follow(1);
        const sent = [first, undo(first, 2), follow(3)];
        return {
          user,
          sent,
          state: async () => {
            const events = await stage.eventsAbout('userId', user.id);
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
      await stage.keep(user, one);
      await stage.handle(user, one);
    }
    expect(await state(user)).toEqual([{ active: false, version: 2 }]);
    expect(await stage.eventsAbout('userId', user.id)).toEqual([]);
  });

  it('of somebody else is no follower of the user whose inbox it came to', async () => {
    const { user, actor } = await newFollower();
    const stray = activity(actor, 'Follow', { object: `${stage.diary.origin}/users/somebody` });
    await stage.keep(user, stray);
    await stage.handle(user, stray);
    expect(await state(user)).toEqual([]);
  });

  it('who was blocked before the Follow was handled is not let in, nor when the block is over', async () => {
    const { user, actor, follow } = await newFollower();
    const relation = { userId: user.id, actor: actor.id };
    const first = follow(1);
    await stage.keep(user, first);
    await blockActor(stage.diary.repositories.blocks, relation);
    await stage.handle(user, first);
    await unblockActor(stage.diary.repositories.blocks, relation);
    await stage.handle(user, first);
    expect(await state(user)).toEqual([{ active: false, version: 1 }]);
    const again = follow(3);
    await stage.keep(user, again);
    await stage.handle(user, again);
    expect(await state(user)).toEqual([{ active: true, version: 3 }]);
  });

  it('is never in force beside a block, when both begin at the same time', async () => {
    for (let round = 0; round < 20; round++) {
      const { user, actor, follow } = await newFollower();
      const first = follow(1);
      await stage.keep(user, first);
      await Promise.all([
        stage.handle(user, first),
        blockActor(stage.diary.repositories.blocks, { userId: user.id, actor: actor.id }),
      ]);
      expect(await state(user)).toEqual([{ active: false, version: 1 }]);
      expect(await stage.diary.repositories.remoteFollowers.inboxesOf(user.id)).toEqual([]);
    }
  });
});
