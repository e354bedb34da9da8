import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { seeded } from '../demo/seeded';
import { SharpImages } from '../src/adapters/images/sharp';
import type { HandlerDeps } from '../src/handlers/createHandlers';
import { TestDiary } from './support/diary';
import { FilmLife, NOTHING } from './support/filmLife';

const SEEDS = Array.from({ length: 12 }, (_, index) => index + 1);
const STEPS = 40;
const AT_ONCE = 3;

type Run = (deps: Partial<HandlerDeps>) => Promise<void>;

let diary: TestDiary;
let provider: Awaited<ReturnType<TestDiary['startProvider']>>;

beforeAll(async () => {
  diary = await TestDiary.create();
  provider = await diary.startProvider({ delayMs: [0, 5] });
});
afterAll(() => diary.close());

/** Services that fail before their effect, and behind it; the provider names another poster now and then, or none. */
function frail(random: () => number): Partial<HandlerDeps> {
  const { objects, metadata } = diary;
  const risked = async <T>(call: () => Promise<T>): Promise<T> => {
    if (random() < 0.1) throw new Error('died before the effect');
    const result = await call();
    await sleep(random() * 4);
    if (random() < 0.15) throw new Error('died behind the effect');
    return result;
  };
  return {
    objects: {
      put: (...given) => risked(() => objects.put(...given)),
      get: (...given) => risked(() => objects.get(...given)),
      has: (...given) => risked(() => objects.has(...given)),
      delete: (...given) => risked(() => objects.delete(...given)),
      list: (...given) => risked(() => objects.list(...given)),
    },
    metadata: {
      film: async (...given) => {
        const film = await risked(() => metadata.film(...given));
        const poster = Math.floor(random() * 4);
        return film && { ...film, posterUrl: poster === 0 ? null : `${provider.url}/posters/${poster}.svg` };
      },
      person: (...given) => risked(() => metadata.person(...given)),
      image: (...given) => risked(() => metadata.image(...given)),
    },
  };
}

/** What is to be run for events that have been written since the last look. */
async function newRuns(film: FilmLife, seen: Set<string>): Promise<Run[]> {
  const { rows } = await diary.outbox.db.query<{ id: string; type: string }>(
    `SELECT event_id::text AS id, event_type AS type FROM :schema.event_queue WHERE aggregate_id = $1`,
    [film.id],
  );
  const runs: Record<string, Run> = {
    MovieDiscovered: (deps) => film.enrich(deps),
    MovieEnriched: (deps) => film.withdraw(deps),
    PosterRequested: (deps) => film.sync(deps),
    ImageStored: (deps) => film.convert(deps),
  };
  return rows.flatMap(({ id, type }) => {
    const run = runs[type];
    if (seen.has(id)) return [];
    seen.add(id);
    return run ? [run] : [];
  });
}

async function expectAsItWasLeft(film: FilmLife, isThere: boolean): Promise<void> {
  const { profile, hasPoster } = (await diary.repositories.films.find(film.id)) ?? {};
  if (!isThere || profile?.posterUrl === null) {
    expect(hasPoster ?? false).toBe(false);
    return expect(await film.remains()).toEqual(NOTHING);
  }
  const row = await film.row();
  const image = await diary.metadata.image(row?.sourceUrl ?? '', new AbortController().signal);
  const copy = await new SharpImages().thumbnail(image?.body ?? Buffer.of(), 200);
  expect(row?.sha256).toBe(
    createHash('sha256')
      .update(image?.body ?? '')
      .digest('hex'),
  );
  expect((await diary.objects.get(film.original))?.equals(image?.body ?? Buffer.of())).toBe(true);
  expect((await diary.objects.get(film.thumbnail))?.equals(copy)).toBe(true);
  expect(await film.objects()).toHaveLength(2);
  expect(profile?.posterUrl).toBe(row?.sourceUrl);
}

it.each(SEEDS)(
  'whatever order, deaths, repeats and simultaneity: film, profile, poster and objects agree at the end (seed %s)',
  async (seed) => {
    const random = seeded(seed);
    const film = new FilmLife(diary, 500 + seed);
    const seen = new Set<string>();
    const waiting: Run[] = [];
    const running = new Set<Promise<void>>();
    let isThere = false;

    const start = (run: Run) => {
      const attempt = run(frail(random)).then(
        // A handler whose ledger entry was lost runs again, long after it was done.
        () => void (random() < 0.2 && waiting.push(run)),
        () => void waiting.push(run),
      );
      running.add(attempt);
      void attempt.finally(() => running.delete(attempt));
    };

    for (let step = 0; step < STEPS; step++) {
      waiting.push(...(await newRuns(film, seen)));
      const chance = random();
      if (chance < 0.12 && isThere) {
        await film.remove();
        isThere = false;
        waiting.push((deps) => film.cleanUp(deps));
      } else if (!isThere && chance < 0.4) {
        await film.discover();
        isThere = true;
      } else if (chance < 0.2) {
        waiting.push((deps) => film.enrichAgain(deps));
      } else {
        const [run] = waiting.splice(Math.floor(random() * waiting.length), 1);
        if (run) start(run);
        if (running.size >= AT_ONCE) await Promise.race(running);
      }
    }
    await Promise.all(running);
    for (;;) {
      waiting.push(...(await newRuns(film, seen)));
      const run = waiting.shift();
      if (!run) break;
      await run({});
    }
    await expectAsItWasLeft(film, isThere);
  },
);
