import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Handler } from 'temporal-outbox';
import { eventually } from '../../../test/support/eventually';
import { HttpInboxes } from '../src/adapters/http/inboxes';
import { verify } from '../src/adapters/http/signature';
import { PostgresRemoteFollowers } from '../src/adapters/postgres/remoteFollowers';
import { actorUri, keyId, type Activity } from '../src/domain/activity';
import { announce } from '../src/domain/reactionActivities';
import { block } from '../src/domain/relationActivities';
import { createReview } from '../src/domain/reviewActivities';
import { undo } from '../src/domain/undo';
import { ActivityDeliveryRequested } from '../src/events/federation';
import { BACKENDS, TestDiary } from './support/diary';
import { RemoteInstance } from './support/remoteInstance';
import { handled, runHandler } from './support/runHandler';

const LONG = 45_000;

interface World {
  readonly diary: TestDiary;
  readonly there: RemoteInstance;
}

async function world(settings: Record<string, string> = {}): Promise<World> {
  const diary = await TestDiary.create(settings);
  const there = await RemoteInstance.start();
  diary.outbox.onClose(() => there.close());
  return { diary, there };
}

async function states({ diary }: World, inbox: string): Promise<string[]> {
  const { rows } = await diary.pool.query<{ state: string }>('SELECT state FROM activity_deliveries WHERE inbox = $1', [
    inbox,
  ]);
  return rows.map(({ state }) => state);
}

const postsTo = ({ there }: World, inbox: string) => there.posts.filter(({ url }) => url === inbox);

describe('the handler', () => {
  let here: World;
  let handlers: Handler[];

  beforeAll(async () => {
    here = await world();
    handlers = here.diary.handlers();
  });
  beforeEach(() => {
    here.there.answer = () => 202;
  });
  afterAll(() => here.diary.close());

  /** A delivery that waits, of an activity of any kind. */
  async function requested(build?: (origin: string, actor: string, target: string) => Activity) {
    const { diary, there } = here;
    const user = await diary.user();
    const { id: target, inbox } = there.actor(`t_${user.name}`);
    const actor = actorUri(diary.origin, user.name);
    const occurrence = { origin: diary.origin, actor, version: 1, published: '2024-02-01T10:00:00.123456Z' };
    const activity = build
      ? build(diary.origin, actor, target)
      : announce(occurrence, `${diary.origin}/reviews/${randomUUID()}`);
    await diary.repositories.activities.add(user.id, activity, [inbox], () =>
      ActivityDeliveryRequested.event({ aggregateId: inbox, payload: { activityId: activity.id, inbox } }),
    );
    const event = handled(ActivityDeliveryRequested, { activityId: activity.id, inbox });
    const run = () => runHandler(handlers, 'federation-delivery', event, diary.pool);
    return { user, actor, target, activity, inbox, run };
  }

  it('sends what was kept, signed by its user, and run again it sends nothing', async () => {
    const { diary } = here;
    const { user, actor, activity, inbox, run } = await requested();
    await run();
    await run();
    const [post, ...others] = postsTo(here, inbox);
    expect(others).toEqual([]);
    expect(post?.activity).toEqual(activity);
    const { publicKey } = (await diary.repositories.users.byId(user.id)) ?? {};
    const sender = { keyId: keyId(actor), publicKey: String(publicKey) };
    await verify({ method: 'POST', url: inbox, headers: post?.headers ?? {}, body: post?.body ?? '' }, sender);
    expect(await states(here, inbox)).toEqual(['delivered']);
  });

  it('run twice at once, the second waits for the first one’s answer, and the inbox has one request', async () => {
    const { diary, there } = here;
    const { inbox, run } = await requested();
    let answer: (status: number) => void = () => undefined;
    there.answer = () => new Promise((resolve) => (answer = resolve));
    const runs = Promise.all([run(), run()]);
    await eventually(
      async () => {
        const { rows } = await diary.pool.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return rows.length === 1 && postsTo(here, inbox).length === 1;
      },
      LONG,
      'one that sends and one that waits',
    );
    answer(202);
    await runs;
    expect(postsTo(here, inbox)).toHaveLength(1);
    expect(await states(here, inbox)).toEqual(['delivered']);
  });

  it.each([410, 404, 403, 400, 302])('an inbox that answers %s has refused, for good', async (status) => {
    here.there.answer = () => status;
    const { inbox, run } = await requested();
    await run();
    await run();
    expect(postsTo(here, inbox)).toHaveLength(1);
    expect(await states(here, inbox)).toEqual(['refused']);
  });

  it.each([500, 503, 429, 401])(
    'an inbox that answers %s is tried again, with the same to the letter',
    async (status) => {
      here.there.answer = () => status;
      const { inbox, run } = await requested();
      await expect(run()).rejects.toThrow(`answered ${status} to an activity`);
      expect(await states(here, inbox)).toEqual(['requested']);
      here.there.answer = () => 200;
      await run();
      const [first, second] = postsTo(here, inbox);
      expect(second?.body).toBe(first?.body);
      expect(await states(here, inbox)).toEqual(['delivered']);
    },
  );

  it('an inbox that cannot be reached is tried again', async () => {
    const { diary } = here;
    const { activity } = await requested();
    const key = {
      id: keyId(activity.actor),
      privateKey: await diary.repositories.users.privateKeyOf((await diary.user()).id),
    };
    await expect(new HttpInboxes().post('http://127.0.0.1:9/inbox', activity, key)).rejects.toThrow('did not answer');
  });

  it('an inbox that breaks off behind its answer has the activity', async () => {
    const { diary } = here;
    const { activity } = await requested();
    const privateKey = await diary.repositories.users.privateKeyOf((await diary.user()).id);
    const server = createServer((_request, reply) => {
      reply.writeHead(202, { 'content-length': 1_000 });
      reply.write('thanks', () => reply.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const inbox = `http://127.0.0.1:${(server.address() as AddressInfo).port}/inbox`;
      const key = { id: keyId(activity.actor), privateKey };
      for (let round = 0; round < 20; round++)
        expect(await new HttpInboxes().post(inbox, activity, key)).toBe('delivered');
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('a connection that is lost between the request and the commit repeats the same activity', async () => {
    const { diary, there } = here;
    const { inbox, run } = await requested();
    there.answer = async () => {
      await diary.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND state = 'idle in transaction'`,
      );
      return 202;
    };
    await expect(run()).rejects.toThrow();
    there.answer = () => 202;
    await run();
    await run();
    const [first, second, ...others] = postsTo(here, inbox);
    expect(others).toEqual([]);
    expect(second?.body).toBe(first?.body);
  });

  it('a review that was deleted meanwhile is not sent, and what was to be sent of it is forgotten', async () => {
    const { diary } = here;
    const reviewId = randomUUID();
    const { user, inbox, activity, run } = await requested((origin, actor) =>
      createReview(
        { origin, actor, version: 1, published: '2024-02-01T10:00:00.123456Z' },
        { reviewId, film: { number: 7, title: 'A title' }, rating: 9, comment: 'Zither!', watchedOn: '2024-02-01' },
      ),
    );
    await diary.pool.query('INSERT INTO deleted_reviews (id, user_id, version) VALUES ($1, $2, 2)', [
      reviewId,
      user.id,
    ]);
    const document = await fetch(activity.id);
    expect(document.status).toBe(410);
    expect(await document.json()).toMatchObject({ type: 'Tombstone', version: 2 });
    await run();
    expect(postsTo(here, inbox)).toEqual([]);
    expect(await states(here, inbox)).toEqual(['refused']);
    expect(JSON.stringify(await diary.repositories.activities.find(activity.id))).not.toContain('Zither');
  });

  it('an actor who was blocked meanwhile is sent nothing but the block and its end', async () => {
    const { diary } = here;
    const blocked = async (userId: string, target: string) => {
      const { id, inbox } = here.there.actor(target.slice(target.lastIndexOf('/') + 1));
      await diary.pool.query(
        `INSERT INTO remote_actors (uri, inbox, key_id, public_key, display_name) VALUES ($1, $2, 'k', 'k', 'n')`,
        [id, inbox],
      );
      await diary.pool.query('INSERT INTO blocks (user_id, actor, active, version) VALUES ($1, $2, true, 1)', [
        userId,
        target,
      ]);
    };
    const plain = await requested();
    await blocked(plain.user.id, plain.target);
    await plain.run();
    expect(postsTo(here, plain.inbox)).toEqual([]);
    expect(await states(here, plain.inbox)).toEqual(['refused']);

    const happened = { version: 1, published: '2024-02-01T10:00:00.123456Z' };
    const builders = [
      (origin: string, actor: string, target: string) => block({ origin, actor, ...happened }, target),
      (origin: string, actor: string, target: string) =>
        undo({ origin, actor, ...happened, version: 2 }, block({ origin, actor, ...happened }, target)),
    ];
    for (const build of builders) {
      const { user, target, inbox, run } = await requested(build);
      await blocked(user.id, target);
      await run();
      expect(postsTo(here, inbox)).toHaveLength(1);
      expect(await states(here, inbox)).toEqual(['delivered']);
    }
  });
});

describe.each(BACKENDS)('through a worker, in the backend %s', (backend) => {
  let here: World;

  beforeAll(async () => {
    here = await world({ EVENT_BUS_BACKEND: backend });
    await here.diary.startWorker();
  });
  beforeEach(() => {
    here.there.answer = () => 202;
  });
  afterAll(() => here.diary.close());

  async function followed() {
    const { diary, there } = here;
    const user = await diary.user();
    const { id: actor, inbox } = there.actor(`f_${user.name}`);
    await new PostgresRemoteFollowers(diary.connection).save(user.id, { actor, inbox, active: true, version: 1 }, []);
    return { ...user, inbox };
  }

  const review = { film: { number: 7, title: 'The Third Man' }, rating: 9, comment: null, watchedOn: '2024-02-01' };

  it('whatever a user does is told to the follower once', async () => {
    const { diary } = here;
    const { name, inbox } = await followed();
    const url = `/users/${name}/reviews/${randomUUID()}`;
    await diary.request('PUT', url, review);
    await diary.request('PATCH', url, { rating: 10 });
    await diary.request('PUT', `/users/${name}`, { displayName: 'Another name' });
    await diary.request('PUT', `/users/${name}/moved-to`, { target: 'https://elsewhere.example/users/holly' });
    await diary.settled();
    await diary.request('DELETE', url);
    await diary.settled();
    const types = postsTo(here, inbox).map(({ activity }) => activity.type);
    expect(types.slice().sort()).toEqual(['Create', 'Delete', 'Move', 'Update', 'Update']);
    expect(types.at(-1)).toBe('Delete');
    expect(new Set(postsTo(here, inbox).map(({ activity }) => activity.id)).size).toBe(5);
    expect(new Set(await states(here, inbox))).toEqual(new Set(['delivered']));
  });

  it('an inbox that is down for a while has the activity once it is back', async () => {
    const { diary, there } = here;
    const { name, inbox } = await followed();
    there.answer = () => (postsTo(here, inbox).length === 1 ? 503 : 202);
    await diary.request('PUT', `/users/${name}/reviews/${randomUUID()}`, review);
    await diary.settled();
    const [first, second, ...others] = postsTo(here, inbox);
    expect(others).toEqual([]);
    expect(second?.body).toBe(first?.body);
    expect(await states(here, inbox)).toEqual(['delivered']);
  });

  it('an inbox that is gone is asked once, and the refusal is kept', async () => {
    const { diary, there } = here;
    const { name, inbox } = await followed();
    there.answer = () => 410;
    await diary.request('PUT', `/users/${name}/reviews/${randomUUID()}`, review);
    await diary.settled();
    expect(postsTo(here, inbox)).toHaveLength(1);
    expect(await states(here, inbox)).toEqual(['refused']);
  });

  it('one inbox that fails does not make the others have anything twice', async () => {
    const { diary, there } = here;
    const { id, name, inbox } = await followed();
    const followers = new PostgresRemoteFollowers(diary.connection);
    const others = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const { id: actor, inbox: other } = there.actor(`g${index}_${name}`);
        await followers.save(id, { actor, inbox: other, active: true, version: 1 }, []);
        return other;
      }),
    );
    there.answer = ({ url }) => (url === inbox && postsTo(here, inbox).length === 1 ? 503 : 202);
    await diary.request('PUT', `/users/${name}/reviews/${randomUUID()}`, review);
    await diary.settled();
    expect(others.map((other) => postsTo(here, other).length)).toEqual(others.map(() => 1));
    expect(postsTo(here, inbox)).toHaveLength(2);
  });
});
