import { personOf } from '../src/domain/film';
import { PersonDiscovered, PersonEnrichmentRequested } from '../src/events/people';
import type { FilmRecord, MetadataProvider } from '../src/ports/metadata';
import { TestDiary } from './support/diary';
import { FilmLife } from './support/filmLife';
import { Gate } from './support/gate';
import { handled, runHandler } from './support/runHandler';

/** Many films of the data set have no director; this one has. */
const WITH_DIRECTOR = 1_061;

describe('enrichment', () => {
  let diary: TestDiary;
  let provider: Awaited<ReturnType<TestDiary['startProvider']>>;

  beforeAll(async () => {
    diary = await TestDiary.create();
    provider = await diary.startProvider();
  });
  afterAll(() => diary.close());

  async function peopleEvents(name: string): Promise<Record<string, number>> {
    const { rows } = await diary.outbox.db.query<{ type: string; count: number }>(
      `SELECT event_type AS type, count(*)::integer AS count FROM :schema.event_queue
        WHERE aggregate_id = $1 GROUP BY event_type ORDER BY event_type`,
      [personOf(name).id],
    );
    return Object.fromEntries(rows.map(({ type, count }) => [type, count]));
  }

  /** The provider's answers, changed. */
  const telling = (change: (film: FilmRecord) => Promise<FilmRecord> | FilmRecord): MetadataProvider => ({
    film: async (number, signal) => {
      const film = await diary.metadata.film(number, signal);
      return film && change(film);
    },
    person: (name, signal) => diary.metadata.person(name, signal),
    image: (url, signal) => diary.metadata.image(url, signal),
  });

  describe('of films', () => {
    it('run twice is one profile, one director and one wish for a poster, and the second time no call', async () => {
      const film = new FilmLife(diary, WITH_DIRECTOR);
      await film.discover();
      await film.enrich();
      const { answered } = provider.calls.film;
      await film.enrich();
      expect(provider.calls.film.answered).toBe(answered);
      expect(await film.events()).toEqual({ MovieEnriched: 1, PosterRequested: 1 });
      const { profile } = (await diary.repositories.films.find(film.id)) ?? {};
      expect(profile?.posterUrl).toBe(`${provider.url}/posters/${WITH_DIRECTOR}.svg`);
      expect(await peopleEvents(profile?.director?.name ?? '')).toEqual({ PersonDiscovered: 1 });
    });

    it('run twice at once is the same', async () => {
      const film = new FilmLife(diary, 2);
      await film.discover();
      await Promise.all([film.enrich(), film.enrich(), film.enrichAgain()]);
      expect(await film.events()).toEqual({ MovieEnriched: 1, PosterRequested: 1 });
    });

    it('asked for again asks again, and writes nothing when nothing is new', async () => {
      const film = new FilmLife(diary, 3);
      await film.discover();
      await film.enrich();
      const { answered } = provider.calls.film;
      await film.enrichAgain();
      await film.enrichAgain();
      expect(provider.calls.film.answered).toBe(answered + 2);
      expect(await film.events()).toEqual({ MovieEnriched: 1, PosterRequested: 1 });
    });

    it('asked for again writes what is new; only another poster is fetched again', async () => {
      const film = new FilmLife(diary, 4);
      await film.discover();
      await film.enrich();
      await film.sync();
      await film.enrichAgain({ metadata: telling((found) => ({ ...found, genre: 'Unheard of' })) });
      expect(await film.events()).toMatchObject({ MovieEnriched: 2, PosterRequested: 1 });
      expect((await film.row())?.sha256).not.toBeNull();
      const posterUrl = `${provider.url}/posters/44.svg`;
      await film.enrichAgain({ metadata: telling((found) => ({ ...found, genre: 'Unheard of', posterUrl })) });
      expect(await film.events()).toMatchObject({ MovieEnriched: 3, PosterRequested: 2 });
      expect(await film.row()).toEqual({ sourceUrl: posterUrl, sha256: null, unreadableBecause: null });
    });

    it('whose answer is older than one that was stored meanwhile is asked for again', async () => {
      const film = new FilmLife(diary, 9);
      await film.discover();
      await film.enrich();
      const gate = new Gate();
      const held = telling(async (found) => {
        if (gate.isOpen) return { ...found, genre: 'newer' };
        await gate.pass();
        return { ...found, genre: 'older' };
      });
      const slow = film.enrichAgain({ metadata: held });
      await gate.reached;
      await film.enrichAgain({ metadata: telling((found) => ({ ...found, genre: 'newer' })) });
      gate.open();
      await slow;
      expect((await diary.repositories.films.find(film.id))?.profile?.genre).toBe('newer');
      expect(await film.events()).toMatchObject({ MovieEnriched: 2, PosterRequested: 1 });
    });

    it('whose answer is older than one that said nothing new is asked for again too', async () => {
      const film = new FilmLife(diary, 10);
      await film.discover();
      await film.enrich();
      const gate = new Gate();
      const held = telling(async (found) => {
        if (gate.isOpen) return found;
        await gate.pass();
        return { ...found, genre: 'older' };
      });
      const slow = film.enrichAgain({ metadata: held });
      await gate.reached;
      await film.enrichAgain();
      gate.open();
      await slow;
      expect((await diary.repositories.films.find(film.id))?.profile?.genre).not.toBe('older');
      expect(await film.events()).toEqual({ MovieEnriched: 1, PosterRequested: 1 });
    });

    it('for the first time, whose answer is older than the profile that came meanwhile, leaves that', async () => {
      const film = new FilmLife(diary, 11);
      await film.discover();
      const gate = new Gate();
      const held = telling(async (found) => {
        await gate.pass();
        return { ...found, genre: 'older' };
      });
      const slow = film.enrich({ metadata: held });
      await gate.reached;
      await film.enrichAgain();
      gate.open();
      await slow;
      expect((await diary.repositories.films.find(film.id))?.profile?.genre).not.toBe('older');
      expect(await film.events()).toEqual({ MovieEnriched: 1, PosterRequested: 1 });
    });

    it('of a film that is gone is none, and no call', async () => {
      const film = new FilmLife(diary, 5);
      const { answered } = provider.calls.film;
      await film.enrich();
      await film.enrichAgain();
      expect(provider.calls.film.answered).toBe(answered);
      expect(await film.events()).toEqual({});
    });

    it('of a film that goes while the provider is asked writes nothing about it', async () => {
      const film = new FilmLife(diary, 6);
      await film.discover();
      const metadata = telling(async (found) => {
        await film.remove();
        return found;
      });
      await film.enrich({ metadata });
      expect(await film.events()).toEqual({});
      expect(await film.row()).toBeUndefined();
      expect(await diary.repositories.films.find(film.id)).toBeUndefined();
    });

    it('of a film that the provider does not know leaves it as it is', async () => {
      const film = new FilmLife(diary, 999_999);
      await film.discover();
      await film.enrich();
      expect((await diary.repositories.films.find(film.id))?.profile).toBeUndefined();
      expect(await film.events()).toEqual({});
    });

    it('that fails has written nothing, and says why', async () => {
      const film = new FilmLife(diary, 7);
      await film.discover();
      provider.fail({ unavailable: 1 });
      await expect(film.enrich()).rejects.toThrow('The metadata provider, asked for film 7, answered 503');
      provider.fail({ unavailable: 0 });
      expect(await film.events()).toEqual({});
      await film.enrich();
      expect(await film.events()).toEqual({ MovieEnriched: 1, PosterRequested: 1 });
    });

    it('in its second life is enriched anew', async () => {
      const film = new FilmLife(diary, 8);
      await film.settle();
      await film.remove();
      await film.discover();
      await film.enrich();
      expect(await film.events()).toMatchObject({ MovieEnriched: 2, PosterRequested: 2 });
    });
  });

  describe('of people', () => {
    const payload = (name: string) => ({ personId: personOf(name).id, name });
    const enrich = (name: string) =>
      runHandler(diary.handlers(), 'person-enrichment', handled(PersonDiscovered, payload(name)), diary.pool);
    const enrichAgain = (name: string) =>
      runHandler(diary.handlers(), 'person-enrichment', handled(PersonEnrichmentRequested, payload(name)), diary.pool);

    it('run twice, and twice at once, is one profile', async () => {
      for (const name of ['Steven Spielberg', 'Ridley Scott'])
        await diary.repositories.people.discover(personOf(name), []);
      await enrich('Steven Spielberg');
      await enrich('Steven Spielberg');
      await enrichAgain('Steven Spielberg');
      await Promise.all([enrich('Ridley Scott'), enrich('Ridley Scott'), enrichAgain('Ridley Scott')]);
      for (const name of ['Steven Spielberg', 'Ridley Scott']) {
        expect(await peopleEvents(name)).toEqual({ PersonEnriched: 1 });
        const { profile } = (await diary.repositories.people.find(personOf(name).id)) ?? {};
        expect(profile?.films).toBeGreaterThan(5);
      }
    });

    it('of somebody whom nobody knows, here or there, is none', async () => {
      await enrich('Woody Allen');
      await diary.repositories.people.discover(personOf('Nobody Ever'), []);
      await enrich('Nobody Ever');
      for (const name of ['Woody Allen', 'Nobody Ever']) expect(await peopleEvents(name)).toEqual({});
    });
  });
});
