import { randomUUID } from 'node:crypto';
import sharp from 'sharp';
import { readFilms } from '../demo/films';
import { FilmLife, NOTHING } from './support/filmLife';
import { BACKENDS, TestDiary } from './support/diary';

const FILMS = readFilms().flatMap(({ number, title }) => (title === null ? [] : [{ number, title }]));

describe.each(BACKENDS)('films in the backend %s', (backend) => {
  let diary: TestDiary;
  let provider: Awaited<ReturnType<TestDiary['startProvider']>>;
  let user: string;

  beforeAll(async () => {
    diary = await TestDiary.create({
      EVENT_BUS_BACKEND: backend,
      OUTBOX_BACKOFF_FIRST_MS: '100',
      OUTBOX_BACKOFF_MAX_MS: '500',
    });
    provider = await diary.startProvider();
    await diary.startWorker();
    user = (await diary.user()).name;
  });
  afterAll(() => diary.close());

  async function log(film: { number: number; title: string }): Promise<string> {
    const url = `/users/${user}/reviews/${randomUUID()}`;
    await diary.request('PUT', url, { film, rating: 8, comment: null, watchedOn: '2024-02-01' });
    return url;
  }

  async function copyOf(film: FilmLife) {
    const { format, width } = await sharp((await diary.objects.get(film.thumbnail)) ?? Buffer.of()).metadata();
    return { format, width };
  }

  it('a review brings its film a profile and a poster, each once; its deletion takes them away', async () => {
    const film = new FilmLife(diary, 1_061);
    const url = await log({ number: 1_061, title: '10,000 B.C.' });
    await diary.settled();
    expect(await film.events()).toEqual({ ImageStored: 1, MovieEnriched: 1, PosterRequested: 1, PosterSynced: 1 });
    expect(await film.objects()).toEqual([film.original, film.thumbnail]);
    expect(await copyOf(film)).toEqual({ format: 'webp', width: 200 });
    const stored = await diary.request('GET', `/films/${film.id}`);
    expect(stored).toMatchObject({ hasPoster: true, profile: { director: { name: 'Roland Emmerich' } } });
    expect(await diary.repositories.search.find('emmerich', 5)).toHaveLength(2);

    await diary.request('DELETE', url);
    await diary.settled();
    expect(await film.remains()).toEqual(NOTHING);
    expect(await film.events()).toMatchObject({ ImageStored: 1, MovieEnriched: 1 });
  }, 120_000);

  it('a provider that fails 3 calls of 10 delays films, and costs none of them anything', async () => {
    provider.fail({ unavailable: 0.2, reset: 0.1, delayMs: [1, 20] });
    const films = FILMS.slice(200, 220);
    await Promise.all(films.map((film) => log(film)));
    await diary.settled(90_000);
    provider.fail({ unavailable: 0, reset: 0 });
    const { film: ofFilms, poster } = provider.calls;
    expect(ofFilms.unavailable + ofFilms.reset + poster.unavailable + poster.reset).toBeGreaterThan(3);
    for (const { number } of films) {
      const film = new FilmLife(diary, number);
      expect(await film.events()).toEqual({ ImageStored: 1, MovieEnriched: 1, PosterRequested: 1, PosterSynced: 1 });
      expect(await film.objects()).toEqual([film.original, film.thumbnail]);
    }
  }, 150_000);

  it('films that come and go while they are handled end as they were left', async () => {
    provider.fail({ delayMs: [5, 40] });
    const kept = FILMS.slice(300, 304);
    const left = FILMS.slice(304, 308);
    await Promise.all(
      [...kept, ...left].map(async (film) => {
        for (let life = 0; life < 3; life++) await diary.request('DELETE', await log(film));
        if (kept.includes(film)) await log(film);
      }),
    );
    await diary.settled(90_000);
    for (const { number } of kept) {
      const film = new FilmLife(diary, number);
      expect(await film.objects()).toEqual([film.original, film.thumbnail]);
    }
    for (const { number } of left) expect(await new FilmLife(diary, number).remains()).toEqual(NOTHING);
  }, 150_000);
});
