import type { ObjectStore } from '../src/ports/objectStore';
import { NOTHING } from './support/filmLife';
import { Gate } from './support/gate';
import { DIED, ONE_OF_EACH, PosterStage } from './support/posterStage';

let stage: PosterStage;

beforeAll(async () => {
  stage = await PosterStage.open();
});
afterAll(() => stage.diary.close());

describe('poster-sync', () => {
  it('run twice stores one image, and says so once', async () => {
    const film = await stage.requested();
    await film.sync();
    const { answered } = stage.provider.calls.poster;
    await film.sync();
    expect(stage.provider.calls.poster.answered).toBe(answered);
    expect(await film.events()).toEqual(ONE_OF_EACH);
    expect(await film.objects()).toEqual([film.original]);
  });

  it('run twice at once fetches once', async () => {
    const film = await stage.requested();
    const { answered } = stage.provider.calls.poster;
    const gate = new Gate();
    const first = film.sync({ metadata: stage.gated(gate) });
    await gate.reached;
    const second = film.sync();
    await stage.waitingForLocks(1);
    gate.open();
    await Promise.all([first, second]);
    expect(stage.provider.calls.poster.answered).toBe(answered + 1);
    expect(await film.events()).toEqual(ONE_OF_EACH);
  });

  it('that died behind the store and before the commit is one image and one event when it is run again', async () => {
    const film = await stage.requested();
    const put: ObjectStore['put'] = async (...given) => {
      await stage.diary.objects.put(...given);
      throw new Error(DIED);
    };
    await expect(film.sync({ objects: stage.objectsWith({ put }) })).rejects.toThrow(DIED);
    expect(await film.objects()).toEqual([film.original]);
    expect(await film.events()).toEqual({ MovieEnriched: 1, PosterRequested: 1 });
    await film.sync();
    await film.convert();
    expect(await film.events()).toEqual(ONE_OF_EACH);
    await stage.expectWhole(film);
  });

  it('of a film that is gone fetches nothing', async () => {
    const film = await stage.requested();
    await film.remove();
    const { answered } = stage.provider.calls.poster;
    await film.sync();
    expect(stage.provider.calls.poster.answered).toBe(answered);
    await film.cleanUp();
    await film.sync();
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('of a poster that the provider does not have stores nothing', async () => {
    const film = await stage.requested();
    await film.sync({ metadata: stage.imagesFrom(() => Promise.resolve(undefined)) });
    expect(await film.events()).toEqual({ MovieEnriched: 1, PosterRequested: 1 });
    expect(await film.objects()).toEqual([]);
  });

  it('of another poster replaces original and copy', async () => {
    const film = await stage.settled();
    const before = await stage.diary.objects.get(film.thumbnail);
    await stage.diary.pool.query(
      `UPDATE posters SET source_url = $2, sha256 = NULL, stored_at = NULL WHERE film_id = $1`,
      [film.id, `${stage.provider.url}/posters/7.svg`],
    );
    // An event of the old one that comes late must not keep the old copy alive.
    await film.convert();
    await film.sync();
    await film.convert();
    await stage.expectWhole(film);
    expect((await stage.diary.objects.get(film.thumbnail))?.equals(before ?? Buffer.of())).toBe(false);
  });

  it('whose connection, and with it the lock, is lost while it fetches stores nothing behind the clean-up', async () => {
    const film = await stage.requested();
    const gate = new Gate();
    const fetched = film.sync({ metadata: stage.gated(gate) });
    await gate.reached;
    await stage.cutTransaction();
    await film.remove();
    await film.cleanUp();
    gate.open();
    await expect(fetched).rejects.toThrow();
    expect(await film.remains()).toEqual(NOTHING);
  });
});
