import { SharpImages } from '../src/adapters/images/sharp';
import { setImmediate as turn } from 'node:timers/promises';
import type { ObjectStore } from '../src/ports/objectStore';
import { NOTHING } from './support/filmLife';
import { Gate } from './support/gate';
import { PosterStage } from './support/posterStage';

let stage: PosterStage;

beforeAll(async () => {
  stage = await PosterStage.open();
});
afterAll(() => stage.diary.close());

describe('image-conversion', () => {
  it('run twice puts one copy', async () => {
    const film = await stage.settled();
    const put = jest.fn<Promise<void>, []>();
    await film.convert({ objects: stage.objectsWith({ put }) });
    expect(put).not.toHaveBeenCalled();
    await stage.expectWhole(film);
  });

  it('run twice at once puts one copy', async () => {
    const film = await stage.requested();
    await film.sync();
    let puts = 0;
    const put: ObjectStore['put'] = async (...given) => {
      puts++;
      await turn();
      await stage.diary.objects.put(...given);
    };
    const objects = stage.objectsWith({ put });
    await Promise.all([film.convert({ objects }), film.convert({ objects })]);
    expect(puts).toBe(1);
    await stage.expectWhole(film);
  });

  it('without an original has nothing to do', async () => {
    const film = await stage.requested();
    await film.sync();
    await stage.diary.objects.delete(film.original);
    await film.convert();
    expect(await film.objects()).toEqual([]);
  });

  it('of a film that is gone puts nothing, before and behind its clean-up', async () => {
    const film = await stage.requested();
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
    ['half an image', async () => (await new SharpImages().thumbnail(await stage.anImage(), 300)).subarray(0, 600)],
  ])('of %s ends, with the reason beside the poster, and is over it with the next one', async (_, body) => {
    const film = await stage.requested();
    const original = await body();
    await film.sync({
      metadata: stage.imagesFrom(() => Promise.resolve({ contentType: 'image/png', body: original })),
    });
    await film.convert();
    await film.convert();
    expect(await film.objects()).toEqual([film.original]);
    expect((await film.row())?.unreadableBecause).toMatch(/^It is no image that can be read: ./);
    await stage.diary.pool.query(
      `UPDATE posters SET sha256 = NULL, stored_at = NULL, unreadable_because = NULL WHERE film_id = $1`,
      [film.id],
    );
    await film.sync();
    await film.convert();
    await stage.expectWhole(film);
  });

  it('whose connection, and with it the lock, is lost on the way puts nothing behind the clean-up', async () => {
    const film = await stage.requested();
    await film.sync();
    const gate = new Gate();
    const get: ObjectStore['get'] = async (...given) => {
      const original = await stage.diary.objects.get(...given);
      await gate.pass();
      return original;
    };
    const converted = film.convert({ objects: stage.objectsWith({ get }) });
    await gate.reached;
    await stage.cutTransaction();
    await film.remove();
    await film.cleanUp();
    gate.open();
    await expect(converted).rejects.toThrow();
    expect(await film.remains()).toEqual(NOTHING);
  });
});
