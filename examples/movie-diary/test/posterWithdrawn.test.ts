import { NOTHING, type FilmLife } from './support/filmLife';
import { Gate } from './support/gate';
import { DIED, PosterStage } from './support/posterStage';

let stage: PosterStage;

beforeAll(async () => {
  stage = await PosterStage.open();
});
afterAll(() => stage.diary.close());

const hasPoster = async (film: FilmLife) => (await stage.diary.repositories.films.find(film.id))?.hasPoster;

describe('a poster that the provider has no more', () => {
  it('is none of the film at once, and its objects go', async () => {
    const film = await stage.settled();
    expect(await hasPoster(film)).toBe(true);
    await film.enrichAgain({ metadata: stage.withoutPosters() });
    expect(await hasPoster(film)).toBe(false);
    await film.withdraw();
    expect(await film.remains()).toEqual(NOTHING);
    await film.withdraw();
    expect(await film.remains()).toEqual(NOTHING);
    expect(await film.events()).toMatchObject({ MovieEnriched: 2, PosterRequested: 1 });
  });

  it('is not fetched or copied by handlers that come late, before and behind its clean-up', async () => {
    const film = await stage.requested();
    await film.enrichAgain({ metadata: stage.withoutPosters() });
    const { answered } = stage.provider.calls.poster;
    await film.sync();
    await film.convert();
    await film.withdraw();
    await film.sync();
    await film.convert();
    expect(stage.provider.calls.poster.answered).toBe(answered);
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('goes by many clean-ups at once, and by one that goes on where another died', async () => {
    const film = await stage.settled();
    await film.enrichAgain({ metadata: stage.withoutPosters() });
    const objects = stage.objectsWith({ delete: stage.dyingBehind(1) });
    await expect(film.withdraw({ objects })).rejects.toThrow(DIED);
    expect(await film.objects()).toHaveLength(1);
    await Promise.all([film.withdraw(), film.withdraw(), film.withdraw()]);
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('and is fetched while it is withdrawn goes too: the new profile waits for the lock', async () => {
    const film = await stage.requested();
    const gate = new Gate();
    const fetched = film.sync({ metadata: stage.gated(gate) });
    await gate.reached;
    const withdrawn = film.enrichAgain({ metadata: stage.withoutPosters() });
    await stage.waitingForLocks(1);
    gate.open();
    await Promise.all([fetched, withdrawn]);
    await film.convert();
    await film.withdraw();
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('and is there again before its clean-up is fetched anew, and stays', async () => {
    const film = await stage.settled();
    await film.enrichAgain({ metadata: stage.withoutPosters() });
    await film.enrichAgain();
    await film.sync();
    await film.withdraw();
    await film.convert();
    await film.withdraw();
    await stage.expectWhole(film);
    expect(await hasPoster(film)).toBe(true);
    expect(await film.events()).toMatchObject({ PosterRequested: 2, ImageStored: 2 });
  });

  it('goes when the film comes back without it, and its clean-up finds the film there', async () => {
    const film = await stage.settled();
    await film.remove();
    await film.discover();
    await film.enrich({ metadata: stage.withoutPosters() });
    expect(await hasPoster(film)).toBe(false);
    await film.cleanUp();
    await film.withdraw();
    expect(await film.remains()).toEqual(NOTHING);
  });

  it('goes with the film when that goes first', async () => {
    const film = await stage.settled();
    await film.enrichAgain({ metadata: stage.withoutPosters() });
    await film.remove();
    await film.cleanUp();
    await film.withdraw();
    expect(await film.remains()).toEqual(NOTHING);
  });
});
