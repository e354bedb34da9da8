import { randomUUID } from 'node:crypto';
import type { Review } from '../src/domain/review';
import { MAX_ROWS } from '../src/adapters/csv/diaryExport';
import { eventually } from '../../../test/support/eventually';
import { importedReviewId } from '../src/domain/diaryImport';
import { TestDiary } from './support/diary';

interface Imported {
  readonly imported: number;
  readonly refused: readonly { readonly line: number; readonly reason: string }[];
  readonly error?: string;
}

describe('integrations', () => {
  let diary: TestDiary;

  beforeAll(async () => {
    diary = await TestDiary.create();
  });
  afterAll(() => diary.close());

  async function post<T>(path: string, type: string, body: string | Buffer): Promise<{ status: number; body: T }> {
    const answer = await fetch(`${diary.origin}${path}`, { method: 'POST', headers: { 'content-type': type }, body });
    return { status: answer.status, body: (await answer.json()) as T };
  }

  const importCsv = (name: string, body: string | Buffer, id: string = randomUUID()) =>
    post<Imported>(`/users/${name}/imports/${id}`, 'text/csv', body);
  const typesSince = async (count: number) => (await diary.events()).slice(count).map(({ type }) => type);

  describe('a webhook', () => {
    const event = {
      eventId: 'e 1',
      film: { number: 201, title: 'The Third Man' },
      watchedAt: '2024-02-01T23:30:00-05:00',
    };
    const report = (name: string, body: object, source = 'jellyfin') =>
      post(`/users/${name}/webhooks/${source}`, 'application/json', JSON.stringify(body));

    it('that is sent again is the same event; one of another source or user is not', async () => {
      const [{ name }, other] = [await diary.user(), await diary.user()];
      const before = (await diary.events()).length;
      const first = await report(name, event);
      expect(first).toMatchObject({ status: 201, body: { watchedAt: '2024-02-02T04:30:00.000Z' } });
      expect(await report(name, event)).toEqual({ status: 200, body: first.body });
      expect((await report(name, event, 'plex')).status).toBe(201);
      expect((await report(other.name, event)).status).toBe(201);
      expect(await typesSince(before)).toEqual(['MovieDiscovered', ...Array<string>(3).fill('WatchEventReceived')]);
    });

    it('under the id of another film is told of the conflict, and discovers nothing', async () => {
      const { name } = await diary.user();
      await report(name, event);
      const before = (await diary.events()).length;
      expect((await report(name, { ...event, film: { number: 202, title: 'Trapeze' } })).status).toBe(409);
      expect(await typesSince(before)).toEqual([]);
    });
  });

  describe('a diary export', () => {
    const HEADER = 'Date,Name,Number,Rating,Comment';

    it('becomes reviews, row by row, whatever its line ends, quotes and byte order mark', async () => {
      const { name } = await diary.user();
      const before = (await diary.events()).length;
      const lines = [
        '\ufeffDate,Name,Letterboxd URI,Number,Rating,Comment',
        '2024-02-01,"Tinker, Tailor",x,301,9,"He said ""no"",\r\nand left"',
        '',
        '2024-02-02,Night Train,x,302,7,',
      ];
      expect((await importCsv(name, lines.join('\r\n'))).body).toMatchObject({ imported: 2, refused: [] });
      const reviews = await diary.request<Review[]>('GET', `/users/${name}/reviews`);
      expect(reviews).toMatchObject([
        { rating: 7, comment: null, watchedOn: '2024-02-02' },
        { rating: 9, comment: 'He said "no",\r\nand left' },
      ]);
      expect((await typesSince(before)).sort()).toEqual([
        'DiaryImported',
        'MovieDiscovered',
        'MovieDiscovered',
        'ReviewLogged',
        'ReviewLogged',
      ]);
    });

    it('that is sent again is the same import; another file under its id, or its id from another user, is refused', async () => {
      const [{ name }, other] = [await diary.user(), await diary.user()];
      const [id, csv] = [randomUUID(), `${HEADER}\n2024-02-01,Night Train,302,7,x\n2024-02-30,Night Train,302,7,x`];
      const first = await importCsv(name, csv, id);
      const before = (await diary.events()).length;
      expect(first).toMatchObject({ status: 201, body: { imported: 1, refused: [{ line: 3 }] } });
      expect(await importCsv(name, csv, id)).toEqual({ status: 200, body: first.body });
      expect((await importCsv(name, `${csv}\n2024-02-03,Night Train,302,7,x`, id)).status).toBe(409);
      expect((await importCsv(other.name, csv, id)).status).toBe(409);
      expect(await typesSince(before)).toEqual([]);
      expect(await diary.request('GET', `/users/${name}/reviews`)).toHaveLength(1);
    });

    it('of which many come at once under one id is imported once', async () => {
      const { name } = await diary.user();
      const [id, csv] = [randomUUID(), `${HEADER}\n2024-02-01,Night Train,302,7,x\n2024-02-02,Night Train,302,8,y`];
      const answers = await Promise.all(Array.from({ length: 6 }, () => importCsv(name, csv, id)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 201]);
      expect(await diary.request('GET', `/users/${name}/reviews`)).toHaveLength(2);
    });

    it('of which a review has been logged and deleted meanwhile is refused whole', async () => {
      const { id: userId, name } = await diary.user();
      const importId = randomUUID();
      await diary.request('PUT', '/films/by-number/304', { title: 'Our Man in Havana' });
      const holder = await diary.pool.connect();
      await holder.query('BEGIN');
      await holder.query('SELECT FROM films WHERE number = 304 FOR UPDATE');
      const imported = importCsv(name, `${HEADER}\n2024-02-01,Our Man in Havana,304,7,x`, importId);
      await eventually(
        async () => {
          const { rows } = await diary.pool.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          );
          return rows.length > 0;
        },
        30_000,
        'the import waits for its film',
      );
      const url = `/users/${name}/reviews/${importedReviewId(importId, 2)}`;
      const film = { number: 305, title: 'A Kid for Two Farthings' };
      await diary.request('PUT', url, { film, rating: 7, comment: null, watchedOn: '2024-02-01' });
      await diary.request('DELETE', url);
      const before = (await diary.events()).length;
      await holder.query('ROLLBACK');
      holder.release();
      expect((await imported).status).toBe(409);
      expect(await diary.repositories.reviews.ofUser(userId)).toEqual([]);
      expect(await diary.repositories.diaryImports.find(importId)).toBeUndefined();
      expect(await typesSince(before)).toEqual([]);
    });

    it('names each row that is no review by line and reason, without its text', async () => {
      const { name } = await diary.user();
      const rows = [
        '2024-02-30,No such day,303,7,secret',
        '2024-02-01,No rating,303,11,secret',
        '2024-02-01,,303,7,secret',
        '2024-02-01,No number,x,1.5,secret',
        '2024-02-01,Too many,303,7,secret, and more',
        '2024-02-01,Too few,303',
        '2024-02-01,Half\u0000,303,7,secret',
        `2024-02-01,Long,303,7,${'x'.repeat(5_001)}`,
        '2024-02-01,Good,303,7,secret',
      ];
      const { body } = await importCsv(name, [HEADER, ...rows].join('\n'));
      expect(body.imported).toBe(1);
      expect(body.refused.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
      expect(body.refused[3]?.reason).toBe(
        'number must be a whole number above 0; rating must be a whole number from 1 to 10',
      );
      expect(JSON.stringify(body)).not.toContain('secret');
      const { rows: kept } = await diary.pool.query<{ refused: object }>(
        'SELECT refused FROM diary_imports d JOIN users u ON u.id = d.user_id WHERE u.name = $1',
        [name],
      );
      expect(kept).toEqual([{ refused: body.refused }]);
    });

    it('that is none is refused whole', async () => {
      const { name } = await diary.user();
      const tooMany = [HEADER, ...Array<string>(MAX_ROWS + 1).fill('2024-02-01,X,303,7,')].join('\n');
      const files: [string | Buffer, RegExp][] = [
        ['', /empty/],
        ['\ufeff', /empty/],
        ['hello', /lacks the columns date, name, number, rating/],
        ['<html></html>', /lacks the columns/],
        [`${HEADER}\n2024-02-01,"Night`, /no CSV: quote not closed, line 2/],
        [`${HEADER}\n2024-02-01,Ni"ght,1,2,x`, /^The file is no CSV: invalid opening quote, line 2$/],
        [`${HEADER},date\n`, /twice/],
        [Buffer.from([0xff, 0xfe, 0x44, 0x00]), /UTF-8/],
        [tooMany, /1001 rows/],
      ];
      for (const [file, reason] of files) {
        const { status, body } = await importCsv(name, file);
        expect({ status, error: body.error }).toEqual({ status: 400, error: expect.stringMatching(reason) as string });
      }
      expect((await importCsv(name, 'x'.repeat(1024 * 1024 + 1))).status).toBe(413);
      const id = randomUUID();
      expect((await post(`/users/${name}/imports/${id}`, 'application/json', '{}')).status).toBe(400);
      const { rows } = await diary.pool.query(
        'SELECT FROM diary_imports d JOIN users u ON u.id = user_id WHERE name = $1',
        [name],
      );
      expect(rows).toEqual([]);
    });

    it('whose lines end as on old machines gives each row an id of its own', async () => {
      const { name } = await diary.user();
      const csv = [HEADER, '2024-02-01,Night Train,302,7,a', '2024-02-02,Night Train,302,7,b'].join('\r');
      expect((await importCsv(name, csv)).body).toMatchObject({ imported: 2, refused: [] });
    });
  });
});
