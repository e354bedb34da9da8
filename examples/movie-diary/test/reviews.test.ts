import { randomUUID } from 'node:crypto';
import { BACKENDS, TestDiary } from './support/diary';

describe.each(BACKENDS)('reviews in the backend %s', (backend) => {
  let diary: TestDiary;

  beforeAll(async () => {
    diary = await TestDiary.create({ EVENT_BUS_BACKEND: backend });
    await diary.startWorker();
  });
  afterAll(() => diary.close());

  it('the last review of a film takes the film and its search entry with it', async () => {
    const { name } = await diary.user();
    const reviewId = randomUUID();
    const url = `/users/${name}/reviews/${reviewId}`;
    const body = { film: { number: 7, title: 'The Third Man' }, rating: 9, comment: null, watchedOn: '2024-02-01' };
    await diary.request('PUT', url, body);
    await diary.request('PUT', url, body);
    await diary.request('PATCH', url, { rating: 10 });
    await diary.settled();
    expect(await diary.repositories.search.find('third man', 5)).toMatchObject([{ title: 'The Third Man' }]);
    await diary.request('DELETE', url);
    await diary.settled();
    expect(await diary.repositories.search.find('third man', 5)).toEqual([]);
    const types = (await diary.events()).map(({ type }) => type);
    expect(types).toEqual([
      'UserRegistered',
      'MovieDiscovered',
      'ReviewLogged',
      'ReviewEdited',
      'ReviewDeleted',
      'MovieDeleted',
    ]);
  });

  it('a deletion whose answer was lost may be sent again, by its owner alone', async () => {
    const [{ name }, other] = [await diary.user(), await diary.user()];
    const reviewId = randomUUID();
    const film = { number: 8, title: 'Odd Man Out' };
    const content = { film, rating: 9, comment: null, watchedOn: '2024-02-01' };
    await diary.request('PUT', `/users/${name}/reviews/${reviewId}`, content);
    const remove = async (user: string) =>
      (await fetch(`${diary.origin}/users/${user}/reviews/${reviewId}`, { method: 'DELETE' })).status;
    expect(await remove(other.name)).toBe(404);
    expect(await Promise.all([remove(name), remove(name), remove(name)])).toEqual([204, 204, 204]);
    expect(await remove(name)).toBe(204);
    expect(await remove(other.name)).toBe(404);
    const { rows } = await diary.outbox.db.query(
      `SELECT FROM :schema.event_queue WHERE event_type = 'ReviewDeleted' AND aggregate_id = $1`,
      [reviewId],
    );
    expect(rows).toHaveLength(1);
  });
});
