import type { ObjectStore } from '../src/ports/objectStore';
import { NOTHING } from './support/filmLife';
import { Gate } from './support/gate';
import { DIED, PosterStage } from './support/posterStage';

let stage: PosterStage;

beforeAll(async () => {
  stage = await PosterStage.open();
});
afterAll(() => stage.diary.close());

describe('a film that goes and comes back', () => {
  it('and goes while its poster is fetched leaves nothing: the clean-up waits for the lock', async () => {
    const film = await stage.requested();
    const gate = new Gate();
    const fetched = film.sync({ metadata: stage.gated(gate) });
    await gate.reached;
    await film.remove();
    const cleanedUp = film.cleanUp();
    await stage.waitingForLocks(1);
    gate.open();
    await Promise.all([fetched, cleanedUp]);
    await film.convert();
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('and goes while its copy is made leaves nothing', async () => {
    const film = await stage.requested();
    await film.sync();
    const gate = new Gate();
    const get: ObjectStore['get'] = async (...given) => {
      await gate.pass();
      return stage.diary.objects.get(...given);
    };
    const converted = film.convert({ objects: stage.objectsWith({ get }) });
    await gate.reached;
    await film.remove();
    const cleanedUp = film.cleanUp();
    await stage.waitingForLocks(1);
    gate.open();
    await Promise.all([converted, cleanedUp]);
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('keeps its reviewers waiting for nobody who fetches: only the poster is locked', async () => {
    const film = await stage.requested();
    const gate = new Gate();
    const fetched = film.sync({ metadata: stage.gated(gate) });
    await gate.reached;
    await film.remove();
    await film.discover();
    const enriched = film.enrich();
    await stage.waitingForLocks(1);
    await stage.diary.repositories.films.requestEnrichment(film.id, []);
    gate.open();
    await Promise.all([fetched, enriched]);
  });

  it('and is back while the clean-up waits keeps what there is: it looks behind the lock', async () => {
    const film = await stage.requested();
    const gate = new Gate();
    const fetched = film.sync({ metadata: stage.gated(gate) });
    await gate.reached;
    await film.remove();
    const cleanedUp = film.cleanUp();
    await stage.waitingForLocks(1);
    await film.discover();
    gate.open();
    await Promise.all([fetched, cleanedUp]);
    expect(await film.objects()).toEqual([film.original]);
    await film.enrich();
    await film.sync();
    await film.convert();
    await stage.expectWhole(film);
  });

  it('and is back while its images are being removed gets its poster anew: its profile waits for the lock', async () => {
    const film = await stage.settled();
    await film.remove();
    const gate = new Gate();
    const removing: ObjectStore['delete'] = async (...given) => {
      await gate.pass();
      await stage.diary.objects.delete(...given);
    };
    const cleanedUp = film.cleanUp({ objects: stage.objectsWith({ delete: removing }) });
    await gate.reached;
    await film.discover();
    const enriched = film.enrich();
    await stage.waitingForLocks(1);
    gate.open();
    await Promise.all([cleanedUp, enriched]);
    expect(await film.events()).toMatchObject({ PosterRequested: 2 });
    await film.sync();
    await film.convert();
    await stage.expectWhole(film);
  });

  it('after a clean-up that removed its images and died gets its poster anew, and keeps it', async () => {
    const film = await stage.settled();
    await film.remove();
    await expect(film.cleanUp({ objects: stage.objectsWith({ delete: stage.dyingBehind(2) }) })).rejects.toThrow(DIED);
    expect(await film.objects()).toEqual([]);
    await film.discover();
    await film.enrich();
    await film.cleanUp();
    await film.sync();
    await film.cleanUp();
    await film.convert();
    await film.cleanUp();
    await stage.expectWhole(film);
    expect(await film.events()).toEqual({ ImageStored: 2, MovieEnriched: 2, PosterRequested: 2, PosterSynced: 2 });
  });

  it('is fetched once when the wish of its first life comes late', async () => {
    const film = await stage.requested();
    await film.remove();
    await film.discover();
    await film.enrich();
    await film.sync();
    await film.sync();
    await film.cleanUp();
    await film.convert();
    await stage.expectWhole(film);
    expect(await film.events()).toMatchObject({ PosterRequested: 2, ImageStored: 1, PosterSynced: 1 });
  });

  it('is fetched anew when the wish of its first life is fulfilled before its second profile', async () => {
    const film = await stage.requested();
    await film.remove();
    await film.discover();
    await film.sync();
    await film.enrich();
    await film.sync();
    await film.convert();
    await film.convert();
    await stage.expectWhole(film);
    expect(await film.events()).toMatchObject({ PosterRequested: 2, ImageStored: 2, PosterSynced: 2 });
  });

  it('whose wish was dropped while it was gone wishes again', async () => {
    const film = await stage.requested();
    await film.remove();
    await film.sync();
    await film.discover();
    await film.enrich();
    await film.cleanUp();
    await film.sync();
    await film.convert();
    await stage.expectWhole(film);
  });
});
