import type { ObjectStore } from '../src/ports/objectStore';
import { NOTHING } from './support/filmLife';
import { DIED, PosterStage } from './support/posterStage';

let stage: PosterStage;

beforeAll(async () => {
  stage = await PosterStage.open();
});
afterAll(() => stage.diary.close());

describe('image-cleanup', () => {
  it('run twice leaves nothing', async () => {
    const film = await stage.settled();
    await film.remove();
    await film.cleanUp();
    expect(await film.remains()).toEqual(NOTHING);
    await film.cleanUp();
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('run twice at once leaves nothing', async () => {
    const film = await stage.settled();
    await film.remove();
    await Promise.all([film.cleanUp(), film.cleanUp(), film.cleanUp()]);
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('counts an image that is not there as deleted', async () => {
    const film = await stage.settled();
    await film.remove();
    const list: ObjectStore['list'] = async (...given) => [
      ...(await stage.diary.objects.list(...given)),
      'posters/not-there',
    ];
    await film.cleanUp({ objects: stage.objectsWith({ list }) });
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('that died between two images goes on with the other', async () => {
    const film = await stage.settled();
    await film.remove();
    await expect(film.cleanUp({ objects: stage.objectsWith({ delete: stage.dyingBehind(1) }) })).rejects.toThrow(DIED);
    expect(await film.objects()).toHaveLength(1);
    await film.cleanUp();
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('run late, when the film is there again, leaves it alone', async () => {
    const film = await stage.settled();
    await film.remove();
    await film.settle();
    await film.cleanUp();
    await stage.expectWhole(film);
  });
});
