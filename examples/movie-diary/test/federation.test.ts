import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../src/servers/ports';
import { eventually } from '../../../test/support/eventually';
import { TestOutbox } from '../../../test/support/outbox';
import { Instance } from '../demo/instance';
import type { RemoteReview } from '../src/ports/remoteReviews';
import { TestDiary } from './support/diary';

/** Several hops, each with an outbox of its own, on a machine that others use too. */
const ARRIVAL_MS = 60_000;

let here: TestDiary;
let thereOutbox: TestOutbox;
let there: Instance;
let directory: string;

/** The other instance is two processes of its own: what is enqueued in a process goes to the one schema it knows. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'movie-diary-there-'));
  here = await TestDiary.create({ EVENT_BUS_BACKEND: 'nats' });
  thereOutbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db' });
  const { PATH, HOME } = process.env;
  there = new Instance({
    name: 'there',
    databaseUrl: thereOutbox.database.url,
    outboxSchema: thereOutbox.database.schema,
    port: await freePort(),
    // Nobody logs a film there.
    metadataUrl: 'http://127.0.0.1:9',
    directory,
    env: { PATH, HOME, ...thereOutbox.settings },
  });
  await Promise.all([there.start(), here.startWorker()]);
}, 120_000);

afterAll(async () => {
  await there.stop();
  await thereOutbox.close();
  await here.close();
  await rm(directory, { recursive: true });
}, 60_000);

async function request<T = unknown>(method: 'GET' | 'PUT' | 'DELETE', path: string, body?: object): Promise<T> {
  const json = { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const answer = await fetch(`${there.origin}${path}`, { method, ...(body && json) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
  return (text ? JSON.parse(text) : undefined) as T;
}

it('a follow is accepted, earlier reviews come with it, later ones, edits and deletions arrive, and its end ends it', async () => {
  const holly = await here.user();
  const harry = `u${randomUUID().slice(0, 8)}`;
  await request('PUT', `/users/${harry}`, { displayName: 'Harry' });
  const actor = `${here.origin}/users/${holly.name}`;
  const follows = `/users/${harry}/remote-follows`;
  const byActor = `${follows}?actor=${encodeURIComponent(actor)}`;

  const path = (id: string) => `/users/${holly.name}/reviews/${id}`;
  const log = async (rating: number) => {
    const id = randomUUID();
    const film = { number: rating, title: `Film ${rating}` };
    await here.request('PUT', path(id), { film, rating, comment: 'Seen', watchedOn: '2024-02-01' });
    return id;
  };
  const edit = (id: string, rating: number) => here.request('PATCH', path(id), { rating });
  const remove = (id: string) => here.request('DELETE', path(id));
  const inFeed = async () => {
    const feed = await request<RemoteReview[]>('GET', `/users/${harry}/feed?limit=100`);
    return Object.fromEntries(feed.map(({ uri, rating }) => [uri.replace(`${here.origin}/reviews/`, ''), rating]));
  };
  const arrives = (expected: Record<string, number>) =>
    eventually(async () => expect(await inFeed()).toEqual(expected) ?? true, ARRIVAL_MS, 'the feed');

  const [early, edited, deleted] = [await log(1), await log(2), await log(3)];
  await edit(edited, 9);
  await remove(deleted);

  // Said twice, as by a client whose answer was lost.
  for (let round = 0; round < 2; round++) await request('PUT', follows, { actor });
  await arrives({ [early]: 1, [edited]: 9 });

  const later = await log(4);
  const soonGone = await log(5);
  await edit(early, 8);
  await remove(soonGone);
  await arrives({ [early]: 8, [edited]: 9, [later]: 4 });

  const uri = `${here.origin}/reviews/${later}`;
  const reactions = () => here.request('GET', `/remote-reactions?review=${encodeURIComponent(uri)}`);
  await request('PUT', `/users/${harry}/likes`, { review: uri });
  const like = { actor: `${there.origin}/users/${harry}`, kind: 'like' };
  await eventually(async () => expect(await reactions()).toEqual([like]) ?? true, ARRIVAL_MS, 'the like');
  await request('DELETE', `/users/${harry}/likes?review=${encodeURIComponent(uri)}`);
  await eventually(async () => expect(await reactions()).toEqual([]) ?? true, ARRIVAL_MS, 'no like');

  await request('DELETE', byActor);
  await eventually(
    async () => (await here.repositories.remoteFollowers.inboxesOf(holly.id)).length === 0,
    ARRIVAL_MS,
    'a follower who has left',
  );
  const unseen = await log(6);
  await edit(edited, 2);
  await remove(early);
  await here.settled(ARRIVAL_MS);
  await thereOutbox.allDone(ARRIVAL_MS);
  expect(await inFeed()).toEqual({});
  const { rows } = await thereOutbox.db.query(
    'SELECT rating, deleted FROM public.remote_reviews WHERE actor = $1 ORDER BY rating',
    [actor],
  );
  // What was logged or edited since is not told any more; that something is gone is told to all who had it.
  expect(rows).toEqual([
    { rating: 4, deleted: false },
    { rating: 9, deleted: false },
    { rating: null, deleted: true },
    { rating: null, deleted: true },
  ]);

  await request('PUT', follows, { actor });
  await arrives({ [edited]: 2, [later]: 4, [unseen]: 6 });

  await here.request('PUT', `/users/${holly.name}/blocks`, { actor: like.actor });
  await arrives({});
  expect(await here.repositories.remoteFollowers.inboxesOf(holly.id)).toEqual([]);
  await here.settled(ARRIVAL_MS);
  await thereOutbox.allDone(ARRIVAL_MS);
  // Nothing was told twice, nothing was given up.
  const { rows: open } = await here.pool.query(`SELECT FROM activity_deliveries WHERE state = 'requested'`);
  expect(open).toEqual([]);
}, 240_000);
