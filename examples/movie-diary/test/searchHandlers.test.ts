import { filmOf, personOf } from '../src/domain/film';
import { joined } from '../src/adapters/postgres/connection';
import { repositories } from '../src/adapters/postgres/repositories';
import { MovieDeleted, MovieDiscovered } from '../src/events/films';
import { PersonDiscovered } from '../src/events/people';
import { discoverFilm } from '../src/useCases/discoverFilm';
import { TestDiary } from './support/diary';
import { FilmLife } from './support/filmLife';
import { handled, runHandler } from './support/runHandler';

let diary: TestDiary;
let next = 3_001;

beforeAll(async () => {
  diary = await TestDiary.create();
  await diary.startProvider();
});
afterAll(() => diary.close());

const index = ({ id, number }: FilmLife) =>
  runHandler(
    diary.handlers(),
    'search-index',
    handled(MovieDiscovered, { filmId: id, number, title: 'as it was called at first' }),
    diary.pool,
  );
const remove = ({ id, number }: FilmLife) =>
  runHandler(diary.handlers(), 'search-removal', handled(MovieDeleted, { filmId: id, number }), diary.pool);

async function entries({ id }: { id: string }): Promise<string[]> {
  const { rows } = await diary.pool.query<{ title: string }>('SELECT title FROM search_documents WHERE id = $1', [id]);
  return rows.map(({ title }) => title);
}

async function discovered(): Promise<FilmLife> {
  const film = new FilmLife(diary, next++);
  await film.discover();
  return film;
}

async function gone(): Promise<FilmLife> {
  const film = await discovered();
  await index(film);
  await film.remove();
  return film;
}

describe('search-index', () => {
  it('run twice, and at once, is one entry, of what is stored', async () => {
    const film = await discovered();
    await index(film);
    await index(film);
    expect(await entries(film)).toEqual(['a film']);
    const other = await discovered();
    await Promise.all([index(other), index(other), index(other)]);
    expect(await entries(other)).toEqual(['a film']);
  });

  it('of a person run twice, and at once, is one entry', async () => {
    const person = personOf('James Cameron');
    const event = handled(PersonDiscovered, { personId: person.id, name: person.name });
    const run = () => runHandler(diary.handlers(), 'search-index', event, diary.pool);
    await run();
    expect(await entries(person)).toEqual([]);
    await diary.repositories.people.discover(person, []);
    await run();
    await Promise.all([run(), run(), run()]);
    expect(await entries(person)).toEqual(['James Cameron']);
  });

  it('of a film that is gone enters nothing, before and behind its removal', async () => {
    const film = await discovered();
    await film.remove();
    await index(film);
    expect(await entries(film)).toEqual([]);
    await remove(film);
    await index(film);
    expect(await entries(film)).toEqual([]);
  });

  it('at once with the removal of a film that is gone leaves no entry', async () => {
    for (let round = 0; round < 5; round++) {
      const film = await gone();
      await Promise.all([index(film), remove(film), index(film), remove(film)]);
      expect(await entries(film)).toEqual([]);
    }
  });

  it('at once with the deletion itself leaves none when the removal is through', async () => {
    for (let round = 0; round < 5; round++) {
      const film = await discovered();
      await Promise.all([index(film), film.remove()]);
      await remove(film);
      expect(await entries(film)).toEqual([]);
    }
  });

  it('locks films in any order without a deadlock with an import, which has an order of its own', async () => {
    const [one, two] = [await discovered(), await discovered()];
    const importing = await diary.pool.connect();
    const indexing = await diary.pool.connect();
    try {
      await importing.query('BEGIN');
      await indexing.query(`BEGIN`);
      await indexing.query(`SET LOCAL lock_timeout = '5s'`);
      const title = 'a film';
      await discoverFilm(repositories(joined(importing)).films, { number: one.number, title });
      const { search } = repositories(joined(indexing));
      await search.putFilm(two);
      await search.putFilm(one);
      await discoverFilm(repositories(joined(importing)).films, { number: two.number, title });
    } finally {
      for (const client of [importing, indexing]) {
        await client.query('ROLLBACK');
        client.release();
      }
    }
  });
});

describe('search-removal', () => {
  it('run twice, and at once, leaves no entry', async () => {
    const film = await gone();
    await remove(film);
    await remove(film);
    expect(await entries(film)).toEqual([]);
    const other = await gone();
    await Promise.all([remove(other), remove(other), remove(other)]);
    expect(await entries(other)).toEqual([]);
  });

  it('run late, when the film is there again, leaves its entry', async () => {
    const film = await gone();
    await film.discover();
    await remove(film);
    expect(await entries(film)).toEqual(['a film']);
    await index(film);
    await remove(film);
    expect(await entries(film)).toEqual(['a film']);
  });

  it('at once with the return of the film leaves the entry that it is given', async () => {
    for (let round = 0; round < 5; round++) {
      const film = await gone();
      await Promise.all([remove(film), film.discover().then(() => index(film))]);
      expect(await entries(film)).toEqual(['a film']);
    }
  });
});

describe('the search', () => {
  it.each([
    [filmOf(4_001, 'The Others'), 'others'],
    [filmOf(4_002, 'It'), 'it'],
    [filmOf(4_003, 'Her'), 'her'],
  ])('finds the film %j by %s', async (film, words) => {
    await discoverFilm(diary.repositories.films, film);
    await diary.repositories.search.putFilm(film);
    expect(await diary.repositories.search.find(words, 5)).toContainEqual({
      ...{ kind: 'film', id: film.id, title: film.title },
    });
  });

  it.each([
    ['James Wong', 'james'],
    ['Ridley Scott', 'Ridley Scott'],
    ['Will Gluck', 'will'],
    ['Wes Andrews', 'wes andrews'],
  ])('finds the person %s by %s', async (name, words) => {
    const person = personOf(name);
    await diary.repositories.people.discover(person, []);
    await diary.repositories.search.putPerson(person);
    expect(await diary.repositories.search.find(words, 5)).toContainEqual({
      ...{ kind: 'person', id: person.id, title: name },
    });
  });
});
