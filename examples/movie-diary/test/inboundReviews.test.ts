import { blockActor } from '../src/useCases/blockActor';
import { followActor } from '../src/useCases/followActor';
import { ordersOf } from './support/orders';
import { acceptOf, activity, newReviewUri, note } from './support/sender';
import { InboundStage } from './support/inboundStage';

let stage: InboundStage;

beforeAll(async () => {
  stage = await InboundStage.create();
});
afterAll(() => stage.close());

describe('a review', () => {
  const state = (uri: string) =>
    stage.rowsOf(
      'SELECT version, deleted, rating, comment, film_title AS title FROM remote_reviews WHERE uri = $1',
      uri,
    );

  it('ends deleted in whatever order its Create, Update and Delete arrive, and never comes back', async () => {
    await stage.converge(
      4,
      async () => {
        const { user, actor } = await stage.two();
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
    await stage.converge(
      4,
      async () => {
        const { user, actor } = await stage.two();
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
      const { user, actor } = await stage.two();
      const uri = newReviewUri(actor);
      const sent = [
        activity(actor, 'Create', { object: note(actor, uri, 1) }),
        activity(actor, 'Update', { object: note(actor, uri, 2), version: 2 }),
        activity(actor, 'Delete', { object: { id: uri, type: 'Tombstone', version: 3 }, version: 3 }),
      ];
      for (const index of order) {
        await stage.keep(user, sent[index]!);
        await stage.handle(user, sent[index]!);
      }
      const texts = await stage.rowsOf('SELECT body::text FROM received_activities WHERE actor = $1', actor.id);
      expect(texts).toHaveLength(3);
      expect([order, JSON.stringify(texts)]).toEqual([order, expect.not.stringMatching(/comment|rating|Third Man/)]);
    }
  });

  it('that came back in a later version, before its deletion was handled, is there', async () => {
    const { user, actor } = await stage.two();
    const uri = newReviewUri(actor);
    const remove = activity(actor, 'Delete', { object: { id: uri, type: 'Tombstone', version: 2 }, version: 2 });
    const back = activity(actor, 'Create', { object: note(actor, uri, 3), version: 3 });
    for (const one of [remove, back]) await stage.keep(user, one);
    await stage.handle(user, remove);
    await stage.handle(user, back);
    expect(await state(uri)).toMatchObject([{ version: 3, deleted: false, comment: 'version 3' }]);
  });

  it('has one event for each change, however often it is told', async () => {
    const { user, actor } = await stage.two();
    const uri = newReviewUri(actor);
    const create = activity(actor, 'Create', { object: note(actor, uri, 1) });
    const remove = activity(actor, 'Delete', { object: { id: uri, type: 'Tombstone', version: 2 }, version: 2 });
    for (const one of [create, remove]) {
      await stage.keep(user, one);
      await stage.handle(user, one);
      await Promise.all([stage.handle(user, one), stage.handle(user, one), stage.handle(user, create)]);
    }
    expect(await stage.eventsAbout('reviewUri', uri)).toEqual([
      { type: 'RemoteReviewSaved', version: 1 },
      { type: 'RemoteReviewRemoved', version: 2 },
    ]);
  });

  it('is not taken over by another actor of the same instance, nor removed by it', async () => {
    const { user, actor } = await stage.two();
    const { actor: thief } = await stage.two();
    const uri = newReviewUri(actor);
    const object = { id: uri, type: 'Tombstone', version: 9 };
    for (const one of [
      activity(actor, 'Create', { object: note(actor, uri, 1) }),
      activity(thief, 'Update', { object: note(thief, uri, 8), version: 8 }),
      activity(thief, 'Delete', { object, version: 9 }),
    ]) {
      await stage.keep(user, one);
      await stage.handle(user, one);
    }
    expect(await stage.diary.repositories.remoteReviews.find(uri)).toMatchObject({ actor: actor.id, version: 1 });
    expect(await stage.eventsAbout('reviewUri', uri)).toEqual([{ type: 'RemoteReviewSaved', version: 1 }]);
  });

  it('stands in the feed of those who follow its actor and do not block it', async () => {
    const { user, actor } = await stage.two();
    const uri = newReviewUri(actor);
    const create = activity(actor, 'Create', { object: note(actor, uri, 1) });
    await stage.keep(user, create);
    await stage.handle(user, create);
    const feed = () => stage.diary.request<{ uri: string }[]>('GET', `/users/${user.name}/feed`);
    expect(await feed()).toEqual([]);
    await followActor(
      { ...stage.diary.repositories, origin: stage.diary.origin },
      { userId: user.id, actor: actor.id },
    );
    const accept = acceptOf(actor, `${stage.diary.origin}/users/${user.name}`, 1);
    await stage.keep(user, accept);
    await stage.handle(user, accept);
    expect(await feed()).toMatchObject([{ uri, film: { number: 7, title: 'The Third Man' }, watchedOn: '2024-02-01' }]);
    await blockActor(stage.diary.repositories.blocks, { userId: user.id, actor: actor.id });
    expect(await feed()).toEqual([]);
  });
});
