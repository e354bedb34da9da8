import { randomUUID } from 'node:crypto';
import { PostgresStoredActors } from '../src/adapters/postgres/remoteActors';
import { filmOf } from '../src/domain/film';
import { activity, newReviewUri, note } from './support/sender';
import { InboundStage, THERE } from './support/inboundStage';

let stage: InboundStage;

beforeAll(async () => {
  stage = await InboundStage.create();
});
afterAll(() => stage.close());

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
      await stage.converge(
        4,
        async () => {
          const { user, actor } = await stage.two();
          const first = activity(actor, type, object(actor));
          const sent = [
            first,
            activity(actor, 'Undo', { object: first, version: 2 }),
            activity(actor, type, { ...object(actor), version: 3 }),
          ];
          const state = () =>
            stage.rowsOf('SELECT kind, object, active, version FROM remote_reactions WHERE actor = $1', actor.id);
          return { user, sent, state };
        },
        [{ kind, object: expected, active: true, version: 3 }],
      );
    },
    120_000,
  );

  it('that was taken back before it arrived stays taken back', async () => {
    const { user, actor } = await stage.two();
    const object = `${stage.diary.origin}/reviews/${randomUUID()}`;
    const like = activity(actor, 'Like', { object });
    const undo = activity(actor, 'Undo', { object: like, version: 2 });
    for (const one of [undo, like]) {
      await stage.keep(user, one);
      await stage.handle(user, one);
    }
    expect(await stage.diary.request('GET', `/remote-reactions?review=${encodeURIComponent(object)}`)).toEqual([]);
  });
});

it('news of an actor end as the last of each kind in whatever order they arrive', async () => {
  await stage.converge(
    4,
    async () => {
      const { user, actor } = await stage.two();
      const person = (name: string, movedTo: string | null) => ({ id: actor.id, type: 'Person', name, movedTo });
      const target = `${THERE}/users/new`;
      const sent = [
        activity(actor, 'Update', { object: person('second', null), version: 2 }),
        activity(actor, 'Move', { object: actor.id, target, version: 3 }),
        activity(actor, 'Update', { object: person('fourth', target), version: 4 }),
      ];
      const state = () =>
        stage.rowsOf('SELECT display_name AS name, moved_to AS target FROM remote_actors WHERE uri = $1', actor.id);
      return { user, sent, state };
    },
    [{ name: 'fourth', target: `${THERE}/users/new` }],
  );
}, 120_000);

it('a move that overtakes an earlier change of the name leaves it its name', async () => {
  const { user, actor } = await stage.two();
  const target = `${THERE}/users/new`;
  const move = activity(actor, 'Move', { object: actor.id, target, version: 3 });
  const rename = activity(actor, 'Update', {
    object: { id: actor.id, type: 'Person', name: 'second', movedTo: null },
    version: 2,
  });
  for (const one of [move, rename]) {
    await stage.keep(user, one);
    await stage.handle(user, one);
  }
  expect(await new PostgresStoredActors(stage.diary.connection).find(actor.id)).toMatchObject({
    displayName: 'second',
    movedTo: target,
  });
});

it('an activity that is not there any more changes nothing', async () => {
  const { user, actor } = await stage.two();
  await stage.handle(user, activity(actor, 'Follow', { object: `${stage.diary.origin}/users/${user.name}` }));
  await stage.handle(user, activity(actor, 'Create', { object: note(actor, newReviewUri(actor), 1) }));
  expect(await stage.eventsAbout('userId', user.id)).toEqual([]);
});
