import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { SharpImages } from '../src/adapters/images/sharp';
import type { MetadataProvider } from '../src/ports/metadata';
import type { ObjectStore } from '../src/ports/objectStore';
import { eventually } from '../../../test/support/eventually';
import { TestDiary } from './support/diary';
import { FilmLife, NOTHING } from './support/filmLife';
import { Gate } from './support/gate';

const DIED = 'the process died here';
const ONE_OF_EACH = { ImageStored: 1, MovieEnriched: 1, PosterRequested: 1, PosterSynced: 1 };

let diary: TestDiary;
let provider: Awaited<ReturnType<TestDiary['startProvider']>>;
let next = 100;

beforeAll(async () => {
  diary = await TestDiary.create();
  provider = await diary.startProvider();
});
afterAll(() => diary.close());

/** A film of its own for each test. */
const newFilm = () => new FilmLife(diary, next++);

async function requested(): Promise<FilmLife> {
  const film = newFilm();
  await film.discover();
  await film.enrich();
  return film;
}

async function settled(): Promise<FilmLife> {
  const film = newFilm();
  await film.settle();
  return film;
}

/** What a film with a poster looks like, whatever it has been through. */
async function expectWhole(film: FilmLife): Promise<void> {
  expect(await film.objects()).toEqual([film.original, film.thumbnail]);
  const original = await diary.objects.get(film.original);
  const sha256 = createHash('sha256')
    .update(original ?? '')
    .digest('hex');
  expect(await film.row()).toMatchObject({ sha256, unreadableBecause: null });
  const copy = await new SharpImages().thumbnail(original ?? Buffer.of(), 200);
  expect((await diary.objects.get(film.thumbnail))?.equals(copy)).toBe(true);
}

function objectsWith(some: Partial<ObjectStore>): ObjectStore {
  const { objects } = diary;
  return {
    put: (...given) => objects.put(...given),
    get: (...given) => objects.get(...given),
    has: (...given) => objects.has(...given),
    delete: (...given) => objects.delete(...given),
    list: (...given) => objects.list(...given),
    ...some,
  };
}

function imagesFrom(image: MetadataProvider['image']): MetadataProvider {
  const { metadata } = diary;
  return {
    film: (...given) => metadata.film(...given),
    person: (...given) => metadata.person(...given),
    image,
  };
}

/** Whoever fetches stands at the gate with the row of the poster locked. */
function gated(gate: Gate): MetadataProvider {
  const { metadata } = diary;
  return imagesFrom(async (...given) => {
    await gate.pass();
    return metadata.image(...given);
  });
}

/** Resolves when so many statements in this database wait for a lock. */
async function waitingForLocks(count: number): Promise<void> {
  await eventually(
    async () => {
      const { rows } = await diary.pool.query<{ count: number }>(
        `SELECT count(*)::integer AS count FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return (rows[0]?.count ?? 0) >= count;
    },
    30_000,
    `${count} waiting for locks`,
  );
}

describe('poster-sync', () => {
  it('run twice stores one image, and says so once', async () => {
    const film = await requested();
    await film.sync();
    const { answered } = provider.calls.poster;
    await film.sync();
    expect(provider.calls.poster.answered).toBe(answered);
    expect(await film.events()).toEqual(ONE_OF_EACH);
    expect(await film.objects()).toEqual([film.original]);
  });

  it('run twice at once fetches once', async () => {
    const film = await requested();
    const { answered } = provider.calls.poster;
    const gate = new Gate();
    const first = film.sync({ metadata: gated(gate) });
    await gate.reached;
    const second = film.sync();
    await waitingForLocks(1);
    gate.open();
    await Promise.all([first, second]);
    expect(provider.calls.poster.answered).toBe(answered + 1);
    expect(await film.events()).toEqual(ONE_OF_EACH);
  });

  it('that died behind the store and before the commit is one image and one event when it is run again', async () => {
    const film = await requested();
    const put: ObjectStore['put'] = async (...given) => {
      await diary.objects.put(...given);
      throw new Error(DIED);
    };
    await expect(film.sync({ objects: objectsWith({ put }) })).rejects.toThrow(DIED);
    expect(await film.objects()).toEqual([film.original]);
    expect(await film.events()).toEqual({ MovieEnriched: 1, PosterRequested: 1 });
    await film.sync();
    await film.convert();
    expect(await film.events()).toEqual(ONE_OF_EACH);
    await expectWhole(film);
  });

  it('of a film that is gone fetches nothing', async () => {
    const film = await requested();
    await film.remove();
    const { answered } = provider.calls.poster;
    await film.sync();
    expect(provider.calls.poster.answered).toBe(answered);
    await film.cleanUp();
    await film.sync();
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('of a poster that the provider does not have stores nothing', async () => {
    const film = await requested();
    await film.sync({ metadata: imagesFrom(() => Promise.resolve(undefined)) });
    expect(await film.events()).toEqual({ MovieEnriched: 1, PosterRequested: 1 });
    expect(await film.objects()).toEqual([]);
  });

  it('of another poster replaces original and copy', async () => {
    const film = await settled();
    const before = await diary.objects.get(film.thumbnail);
    await diary.pool.query(`UPDATE posters SET source_url = $2, sha256 = NULL, stored_at = NULL WHERE film_id = $1`, [
      film.id,
      `${provider.url}/posters/7.svg`,
    ]);
    // An event of the old one that comes late must not keep the old copy alive.
    await film.convert();
    await film.sync();
    await film.convert();
    await expectWhole(film);
    expect((await diary.objects.get(film.thumbnail))?.equals(before ?? Buffer.of())).toBe(false);
  });
});

describe('image-conversion', () => {
  it('run twice puts one copy', async () => {
    const film = await settled();
    const put = jest.fn<Promise<void>, []>();
    await film.convert({ objects: objectsWith({ put }) });
    expect(put).not.toHaveBeenCalled();
    await expectWhole(film);
  });

  it('run twice at once puts one copy', async () => {
    const film = await requested();
    await film.sync();
    let puts = 0;
    const put: ObjectStore['put'] = async (...given) => {
      puts++;
      await turn();
      await diary.objects.put(...given);
    };
    const objects = objectsWith({ put });
    await Promise.all([film.convert({ objects }), film.convert({ objects })]);
    expect(puts).toBe(1);
    await expectWhole(film);
  });

  it('without an original has nothing to do', async () => {
    const film = await requested();
    await film.sync();
    await diary.objects.delete(film.original);
    await film.convert();
    expect(await film.objects()).toEqual([]);
  });

  it('of a film that is gone puts nothing, before and behind its clean-up', async () => {
    const film = await requested();
    await film.sync();
    await film.remove();
    await film.convert();
    expect(await film.objects()).toEqual([film.original]);
    await film.cleanUp();
    await film.convert();
    expect(await film.remains()).toEqual(NOTHING);
  });

  it.each([
    ['text', () => Promise.resolve(Buffer.from('sorry, no poster'))],
    ['half an image', async () => (await new SharpImages().thumbnail(await anImage(), 300)).subarray(0, 600)],
  ])('of %s ends, with the reason beside the poster, and is over it with the next one', async (_, body) => {
    const film = await requested();
    const original = await body();
    await film.sync({ metadata: imagesFrom(() => Promise.resolve({ contentType: 'image/png', body: original })) });
    await film.convert();
    await film.convert();
    expect(await film.objects()).toEqual([film.original]);
    expect((await film.row())?.unreadableBecause).toMatch(/^It is no image that can be read: ./);
    await diary.pool.query(
      `UPDATE posters SET sha256 = NULL, stored_at = NULL, unreadable_because = NULL WHERE film_id = $1`,
      [film.id],
    );
    await film.sync();
    await film.convert();
    await expectWhole(film);
  });
});

describe('image-cleanup', () => {
  it('run twice leaves nothing', async () => {
    const film = await settled();
    await film.remove();
    await film.cleanUp();
    expect(await film.remains()).toEqual(NOTHING);
    await film.cleanUp();
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('run twice at once leaves nothing', async () => {
    const film = await settled();
    await film.remove();
    await Promise.all([film.cleanUp(), film.cleanUp(), film.cleanUp()]);
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('counts an image that is not there as deleted', async () => {
    const film = await settled();
    await film.remove();
    const list: ObjectStore['list'] = async (...given) => [
      ...(await diary.objects.list(...given)),
      'posters/not-there',
    ];
    await film.cleanUp({ objects: objectsWith({ list }) });
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('that died between two images goes on with the other', async () => {
    const film = await settled();
    await film.remove();
    await expect(film.cleanUp({ objects: objectsWith({ delete: dyingBehind(1) }) })).rejects.toThrow(DIED);
    expect(await film.objects()).toHaveLength(1);
    await film.cleanUp();
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('run late, when the film is there again, leaves it alone', async () => {
    const film = await settled();
    await film.remove();
    await film.settle();
    await film.cleanUp();
    await expectWhole(film);
  });
});

describe('a film that goes and comes back', () => {
  it('and goes while its poster is fetched leaves nothing: the clean-up waits for the lock', async () => {
    const film = await requested();
    const gate = new Gate();
    const fetched = film.sync({ metadata: gated(gate) });
    await gate.reached;
    await film.remove();
    const cleanedUp = film.cleanUp();
    await waitingForLocks(1);
    gate.open();
    await Promise.all([fetched, cleanedUp]);
    await film.convert();
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('and goes while its copy is made leaves nothing', async () => {
    const film = await requested();
    await film.sync();
    const gate = new Gate();
    const get: ObjectStore['get'] = async (...given) => {
      await gate.pass();
      return diary.objects.get(...given);
    };
    const converted = film.convert({ objects: objectsWith({ get }) });
    await gate.reached;
    await film.remove();
    const cleanedUp = film.cleanUp();
    await waitingForLocks(1);
    gate.open();
    await Promise.all([converted, cleanedUp]);
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('keeps its reviewers waiting for nobody who fetches: only the poster is locked', async () => {
    const film = await requested();
    const gate = new Gate();
    const fetched = film.sync({ metadata: gated(gate) });
    await gate.reached;
    await film.remove();
    await film.discover();
    const enriched = film.enrich();
    await waitingForLocks(1);
    await diary.repositories.films.requestEnrichment(film.id, []);
    gate.open();
    await Promise.all([fetched, enriched]);
  });

  it('and is back while the clean-up waits keeps what there is: it looks behind the lock', async () => {
    const film = await requested();
    const gate = new Gate();
    const fetched = film.sync({ metadata: gated(gate) });
    await gate.reached;
    await film.remove();
    const cleanedUp = film.cleanUp();
    await waitingForLocks(1);
    await film.discover();
    gate.open();
    await Promise.all([fetched, cleanedUp]);
    expect(await film.objects()).toEqual([film.original]);
    await film.enrich();
    await film.sync();
    await film.convert();
    await expectWhole(film);
  });

  it('and is back while its images are being removed gets its poster anew: its profile waits for the lock', async () => {
    const film = await settled();
    await film.remove();
    const gate = new Gate();
    const removing: ObjectStore['delete'] = async (...given) => {
      await gate.pass();
      await diary.objects.delete(...given);
    };
    const cleanedUp = film.cleanUp({ objects: objectsWith({ delete: removing }) });
    await gate.reached;
    await film.discover();
    const enriched = film.enrich();
    await waitingForLocks(1);
    gate.open();
    await Promise.all([cleanedUp, enriched]);
    expect(await film.events()).toMatchObject({ PosterRequested: 2 });
    await film.sync();
    await film.convert();
    await expectWhole(film);
  });

  it('after a clean-up that removed its images and died gets its poster anew, and keeps it', async () => {
    const film = await settled();
    await film.remove();
    await expect(film.cleanUp({ objects: objectsWith({ delete: dyingBehind(2) }) })).rejects.toThrow(DIED);
    expect(await film.objects()).toEqual([]);
    await film.discover();
    await film.enrich();
    await film.cleanUp();
    await film.sync();
    await film.cleanUp();
    await film.convert();
    await film.cleanUp();
    await expectWhole(film);
    expect(await film.events()).toEqual({ ImageStored: 2, MovieEnriched: 2, PosterRequested: 2, PosterSynced: 2 });
  });

  it('is fetched once when the wish of its first life comes late', async () => {
    const film = await requested();
    await film.remove();
    await film.discover();
    await film.enrich();
    await film.sync();
    await film.sync();
    await film.cleanUp();
    await film.convert();
    await expectWhole(film);
    expect(await film.events()).toMatchObject({ PosterRequested: 2, ImageStored: 1, PosterSynced: 1 });
  });

  it('is fetched anew when the wish of its first life is fulfilled before its second profile', async () => {
    const film = await requested();
    await film.remove();
    await film.discover();
    await film.sync();
    await film.enrich();
    await film.sync();
    await film.convert();
    await film.convert();
    await expectWhole(film);
    expect(await film.events()).toMatchObject({ PosterRequested: 2, ImageStored: 2, PosterSynced: 2 });
  });

  it('whose wish was dropped while it was gone wishes again', async () => {
    const film = await requested();
    await film.remove();
    await film.sync();
    await film.discover();
    await film.enrich();
    await film.cleanUp();
    await film.sync();
    await film.convert();
    await expectWhole(film);
  });
});

function dyingBehind(deletions: number): ObjectStore['delete'] {
  let left = deletions;
  return async (...given) => {
    await diary.objects.delete(...given);
    if (--left === 0) throw new Error(DIED);
  };
}

async function anImage(): Promise<Uint8Array> {
  const image = await diary.metadata.image(`${provider.url}/posters/1.svg`, new AbortController().signal);
  return image?.body ?? Buffer.of();
}
