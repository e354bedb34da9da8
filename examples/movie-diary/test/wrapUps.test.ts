import { randomUUID } from 'node:crypto';
import { pooled } from '../src/adapters/postgres/connection';
import { wrapUpId, type WrapUp } from '../src/domain/wrapUp';
import { WrapUpRequested } from '../src/events/wrapUps';
import { wrapUp } from '../src/handlers/wrapUp';
import { TestDiary } from './support/diary';
import { FailingPool } from './support/failingPool';
import { handled, runHandler } from './support/runHandler';

const SUMMARY = {
  reviews: 3,
  films: 2,
  averageRating: 7.67,
  best: { title: 'Odd Man Out', rating: 9 },
  months: [0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
};

describe('a wrap-up', () => {
  let diary: TestDiary;

  beforeAll(async () => {
    diary = await TestDiary.create();
  });
  afterAll(() => diary.close());

  /** Three reviews of 2024, and one of another year. */
  async function requested() {
    const { id: userId, name } = await diary.user();
    const log = (number: number, title: string, rating: number, watchedOn: string) =>
      diary.request('PUT', `/users/${name}/reviews/${randomUUID()}`, {
        ...{ film: { number, title }, rating, watchedOn, comment: null },
      });
    await log(7, 'The Third Man', 6, '2024-02-29');
    await log(7, 'The Third Man', 8, '2024-12-31');
    await log(8, 'Odd Man Out', 9, '2024-02-01');
    await log(9, 'Outcast of the Islands', 10, '2025-01-01');
    const url = `/users/${name}/wrap-ups/2024`;
    const { id } = await diary.request<WrapUp>('PUT', url);
    const read = () => diary.request<WrapUp>('GET', url);
    const event = handled(WrapUpRequested, { wrapUpId: id, userId, year: 2024 });
    return { id, userId, name, url, read, event };
  }

  async function completions(id: string): Promise<number> {
    const { rows } = await diary.outbox.db.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM :schema.event_queue
        WHERE event_type = 'WrapUpCompleted' AND aggregate_id = $1`,
      [id],
    );
    return rows[0]?.count ?? 0;
  }

  const run = (event: ReturnType<typeof handled>, over = diary.pool as Parameters<typeof pooled>[0]) =>
    runHandler([wrapUp(pooled(over))], 'wrap-up', event, diary.pool);

  it('is requested once, and found in its state by whoever asks', async () => {
    const { id, userId, url, read, event } = await requested();
    expect(id).toBe(wrapUpId(userId, 2024));
    expect(await read()).toMatchObject({ state: 'requested', summary: null });
    expect(await diary.request('PUT', url)).toEqual(await read());
    await run(event);
    expect(await diary.request('PUT', url)).toMatchObject({ state: 'completed', summary: SUMMARY });
    const asked = (await diary.events()).filter(({ type }) => type === 'WrapUpRequested');
    expect(asked).toHaveLength(1);
  });

  it('is completed once, however often and at once its handler runs', async () => {
    const { id, read, event } = await requested();
    await Promise.all([1, 2, 3, 4].map(() => run(event)));
    await run(event);
    expect(await read()).toMatchObject({ state: 'completed', summary: SUMMARY });
    expect(await completions(id)).toBe(1);
  });

  it('is completed once although its handler was cut off at any of its statements, and stays as it was then', async () => {
    for (let at = 1; ; at += 1) {
      const { id, name, read, event } = await requested();
      const failing = new FailingPool(diary.pool, at, 'cut');
      await run(event, failing.asPool()).catch(() => undefined);
      if (failing.failed === undefined) break;
      expect(await completions(id)).toBe(0);
      expect((await read()).state).toBe(at === 1 ? 'requested' : 'generating');
      await run(event);
      expect(await read()).toMatchObject({ state: 'completed', summary: SUMMARY });
      const before = await read();
      await diary.request('PUT', `/users/${name}/reviews/${randomUUID()}`, {
        ...{ film: { number: 7, title: 'The Third Man' }, rating: 1, watchedOn: '2024-06-01', comment: null },
      });
      await run(event);
      expect(await read()).toEqual(before);
      expect(await completions(id)).toBe(1);
    }
  });

  it('of a year whose reviews are gone, or that never had any, is empty', async () => {
    const { name } = await diary.user();
    await diary.request('PUT', `/users/${name}/wrap-ups/1999`);
    const { id } = await diary.request<WrapUp>('GET', `/users/${name}/wrap-ups/1999`);
    await run(handled(WrapUpRequested, { wrapUpId: id, userId: randomUUID(), year: 1999 }));
    expect(await diary.request('GET', `/users/${name}/wrap-ups/1999`)).toMatchObject({
      summary: { reviews: 0, films: 0, averageRating: null, best: null },
    });
  });

  it('that nobody requested is left alone', async () => {
    const id = randomUUID();
    await run(handled(WrapUpRequested, { wrapUpId: id, userId: randomUUID(), year: 2024 }));
    expect(await completions(id)).toBe(0);
  });
});
