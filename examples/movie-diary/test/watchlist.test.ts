import { randomUUID } from 'node:crypto';
import type { Film } from '../src/domain/film';
import { TestDiary } from './support/diary';

describe('a watchlist', () => {
  let diary: TestDiary;

  beforeAll(async () => {
    diary = await TestDiary.create();
  });
  afterAll(() => diary.close());

  /** Types and versions of what happened to the entries of a user, oldest first. */
  async function happened(userId: string): Promise<[string, number][]> {
    const { rows } = await diary.outbox.db.query<{ type: string; version: number }>(
      `SELECT event_type AS type, (payload->>'version')::integer AS version FROM :schema.event_queue q
        WHERE aggregate_type = 'watchlist' AND payload->>'userId' = $1 ORDER BY q.id`,
      [userId],
    );
    return rows.map(({ type, version }) => [type, version]);
  }

  it('takes a film once, lets it go once, and counts each change', async () => {
    const { id, name } = await diary.user();
    const url = `/users/${name}/watchlist/101`;
    const title = { title: 'The Third Man' };
    await diary.request('PUT', url, title);
    const film = await diary.request<Film>('PUT', url, title);
    expect(await diary.request('GET', `/users/${name}/watchlist`)).toEqual([film]);
    await diary.request('DELETE', url);
    await diary.request('DELETE', url);
    expect(await diary.request('GET', `/users/${name}/watchlist`)).toEqual([]);
    await diary.request('PUT', url, title);
    expect(await happened(id)).toEqual([
      ['WatchlistEntryAdded', 1],
      ['WatchlistEntryRemoved', 2],
      ['WatchlistEntryAdded', 3],
    ]);
    const discovered = (await diary.events()).filter(({ type }) => type === 'MovieDiscovered');
    expect(discovered).toHaveLength(1);
  });

  it('keeps a film whose last review is deleted', async () => {
    const { name } = await diary.user();
    const review = `/users/${name}/reviews/${randomUUID()}`;
    const film = { number: 102, title: 'Odd Man Out' };
    await diary.request('PUT', review, { film, rating: 9, comment: null, watchedOn: '2024-02-01' });
    await diary.request('PUT', `/users/${name}/watchlist/102`, { title: film.title });
    await diary.request('DELETE', review);
    expect(await diary.request('GET', `/users/${name}/watchlist`)).toMatchObject([film]);
  });

  it('of many equal requests at once, adds by one; the others find it there or are told of the conflict', async () => {
    const { id, name } = await diary.user();
    const put = () =>
      fetch(`${diary.origin}/users/${name}/watchlist/103`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ title: 'Outcast of the Islands' }),
      });
    const statuses = (await Promise.all(Array.from({ length: 8 }, put))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => ![200, 201, 409].includes(status))).toEqual([]);
    expect(await happened(id)).toEqual([['WatchlistEntryAdded', 1]]);
  });

  it('whose film nobody knows any more lets it go as nothing', async () => {
    const { id, name } = await diary.user();
    await diary.request('DELETE', `/users/${name}/watchlist/104`);
    expect(await happened(id)).toEqual([]);
  });

  it('answers with the title that is stored, and says it in its events, whatever the request calls the film', async () => {
    const { id, name } = await diary.user();
    const film = await diary.request<Film>('PUT', '/films/by-number/105', { title: 'The Man Between' });
    expect(await diary.request('PUT', '/films/by-number/105', { title: 'Another name' })).toEqual(film);
    expect(await diary.request('PUT', `/users/${name}/watchlist/105`, { title: 'Another name' })).toEqual(film);
    const { rows } = await diary.outbox.db.query<{ title: string }>(
      `SELECT payload->>'title' AS title FROM :schema.event_queue
        WHERE aggregate_type = 'watchlist' AND payload->>'userId' = $1`,
      [id],
    );
    expect(rows).toEqual([{ title: 'The Man Between' }]);
  });

  it('takes every film that can be reviewed', async () => {
    const { name } = await diary.user();
    const title = { title: 'The Key' };
    for (const number of [1_000_000_000, 2_147_483_647])
      await diary.request('PUT', `/users/${name}/watchlist/${number}`, title);
    expect(await diary.request('GET', `/users/${name}/watchlist`)).toHaveLength(2);
    const tooHigh = diary.request('PUT', `/users/${name}/watchlist/2147483648`, title);
    await expect(tooHigh).rejects.toThrow('answered 400');
  });
});
