import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Pool } from 'pg';
import { enqueueEvents } from 'temporal-outbox/producer';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database';
import { migrateDiary } from '../src/adapters/postgres/migrate';
import { MovieDiscovered } from '../src/events/films';
import { filmOf } from '../src/domain/film';
import { OUTGOING_PROOFS } from './support/outgoingProofs';
import { newFilm } from './support/newReview';
import { proveAtomic, type Proof } from './support/proveAtomic';
import { PROOFS } from './support/useCaseProofs';

const DIRECTORY = join(__dirname, '..', 'src', 'useCases');
const USE_CASES = readdirSync(DIRECTORY).map((file) => basename(file, '.ts'));
const CASES = [...Object.values(PROOFS).flat(), ...OUTGOING_PROOFS];

describe('the state and its events commit together or not at all', () => {
  let database: TestDatabase;
  let pool: Pool;

  beforeAll(async () => {
    database = await cloneDatabase();
    process.env.OUTBOX_SCHEMA = database.schema;
    pool = new Pool({ connectionString: database.url, max: 4 });
    pool.on('error', () => undefined);
    await migrateDiary(pool);
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  it.each(CASES.map((proof) => [proof.name, proof] as const))('%s', async (_name, proof) => {
    const { statements } = await proveAtomic(pool, proof);
    // BEGIN, the state or a lock on it, the events if there are any, COMMIT.
    expect(statements).toBeGreaterThanOrEqual(proof.events.length > 0 ? 4 : 3);
  });

  it('a use case without a proof fails this test', () => {
    expect(Object.keys(PROOFS).sort()).toEqual(USE_CASES.sort());
    for (const [file, proofs] of Object.entries(PROOFS)) {
      const source = readFileSync(join(DIRECTORY, `${file}.ts`), 'utf8');
      // Every function that such a file exports is a use case.
      const count = source.match(/^export (async function|function|const) /gm)?.length;
      expect({ file, unproven: Math.max(0, (count ?? 1) - proofs.length) }).toEqual({ file, unproven: 0 });
    }
  });

  describe('the harness catches a repository that', () => {
    const discovery = () => {
      const { number, title } = newFilm();
      const film = filmOf(number, title);
      const event = MovieDiscovered.event({ aggregateId: film.id, payload: { filmId: film.id, number, title } });
      return { film, event };
    };
    const expectation = { tables: ['films'], events: ['MovieDiscovered'] };

    it('writes the event before the transaction', async () => {
      const proof: Proof = {
        ...expectation,
        name: 'too early',
        prepare: () => {
          const { film, event } = discovery();
          return Promise.resolve(async (stored, { db }) => {
            await enqueueEvents(db, [event]);
            await stored.films.discover(film, []);
          });
        },
      };
      await expect(proveAtomic(pool, proof)).rejects.toThrow(/statement 2 .*BEGIN, it had changed event_queue/);
    });

    it('writes the event after the transaction', async () => {
      const proof: Proof = {
        ...expectation,
        name: 'too late',
        prepare: () => {
          const { film, event } = discovery();
          return Promise.resolve(async (stored, { db }) => {
            await stored.films.discover(film, []);
            await enqueueEvents(db, [event]);
          });
        },
      };
      await expect(proveAtomic(pool, proof)).rejects.toThrow(/statement 4 .*it had changed films/);
    });

    it('keeps a failure to itself', async () => {
      const proof: Proof = {
        ...expectation,
        name: 'silent',
        prepare: () => {
          const { film, event } = discovery();
          return Promise.resolve((stored) => stored.films.discover(film, [event]).catch(() => false));
        },
      };
      await expect(proveAtomic(pool, proof)).rejects.toThrow(/statement 1 .*the caller was not told/);
    });
  });
});
