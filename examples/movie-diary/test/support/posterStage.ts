import { createHash } from 'node:crypto';
import { eventually } from '../../../../test/support/eventually';
import { SharpImages } from '../../src/adapters/images/sharp';
import type { MetadataProvider } from '../../src/ports/metadata';
import type { ObjectStore } from '../../src/ports/objectStore';
import { TestDiary } from './diary';
import { FilmLife } from './filmLife';
import type { Gate } from './gate';

export const DIED = 'the process died here';
export const ONE_OF_EACH = { ImageStored: 1, MovieEnriched: 1, PosterRequested: 1, PosterSynced: 1 };

/** A diary with a provider, films on the way to their posters, and adapters that are held up or die. */
export class PosterStage {
  private next = 100;

  private constructor(
    readonly diary: TestDiary,
    readonly provider: Awaited<ReturnType<TestDiary['startProvider']>>,
  ) {}

  static async open(): Promise<PosterStage> {
    const diary = await TestDiary.create();
    return new PosterStage(diary, await diary.startProvider());
  }

  /** A film of its own for each test. */
  newFilm(): FilmLife {
    return new FilmLife(this.diary, this.next++);
  }

  async requested(): Promise<FilmLife> {
    const film = this.newFilm();
    await film.discover();
    await film.enrich();
    return film;
  }

  async settled(): Promise<FilmLife> {
    const film = this.newFilm();
    await film.settle();
    return film;
  }

  /** What a film with a poster looks like, whatever it has been through. */
  async expectWhole(film: FilmLife): Promise<void> {
    const { objects } = this.diary;
    expect(await film.objects()).toEqual([film.original, film.thumbnail]);
    const original = (await objects.get(film.original)) ?? Buffer.of();
    const sha256 = createHash('sha256').update(original).digest('hex');
    expect(await film.row()).toMatchObject({ sha256, unreadableBecause: null });
    const copy = await new SharpImages().thumbnail(original, 200);
    expect((await objects.get(film.thumbnail))?.equals(copy)).toBe(true);
  }

  objectsWith(some: Partial<ObjectStore>): ObjectStore {
    const { objects } = this.diary;
    return {
      put: (...given) => objects.put(...given),
      get: (...given) => objects.get(...given),
      has: (...given) => objects.has(...given),
      delete: (...given) => objects.delete(...given),
      list: (...given) => objects.list(...given),
      ...some,
    };
  }

  dyingBehind(deletions: number): ObjectStore['delete'] {
    let left = deletions;
    return async (...given) => {
      await this.diary.objects.delete(...given);
      if (--left === 0) throw new Error(DIED);
    };
  }

  imagesFrom(image: MetadataProvider['image']): MetadataProvider {
    const { metadata } = this.diary;
    return {
      film: (...given) => metadata.film(...given),
      person: (...given) => metadata.person(...given),
      image,
    };
  }

  /** Whoever fetches stands at the gate with the row of the poster locked. */
  gated(gate: Gate): MetadataProvider {
    const { metadata } = this.diary;
    return this.imagesFrom(async (...given) => {
      await gate.pass();
      return metadata.image(...given);
    });
  }

  /** The provider's films, without a poster. */
  withoutPosters(): MetadataProvider {
    const { metadata } = this.diary;
    return {
      film: async (...given) => {
        const film = await metadata.film(...given);
        return film && { ...film, posterUrl: null };
      },
      person: (...given) => metadata.person(...given),
      image: (...given) => metadata.image(...given),
    };
  }

  async anImage(): Promise<Uint8Array> {
    const url = `${this.provider.url}/posters/1.svg`;
    const image = await this.diary.metadata.image(url, new AbortController().signal);
    return image?.body ?? Buffer.of();
  }

  /** Resolves when so many statements in this database wait for a lock. */
  async waitingForLocks(count: number): Promise<void> {
    await eventually(
      async () => {
        const { rows } = await this.diary.pool.query<{ count: number }>(
          `SELECT count(*)::integer AS count FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return (rows[0]?.count ?? 0) >= count;
      },
      30_000,
      `${count} waiting for locks`,
    );
  }

  /** Cuts the connection whose transaction waits for its next statement. */
  async cutTransaction(): Promise<void> {
    const { rows } = await this.diary.pool.query(
      `SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'idle in transaction'`,
    );
    expect(rows).toHaveLength(1);
  }
}
