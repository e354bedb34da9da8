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
});
