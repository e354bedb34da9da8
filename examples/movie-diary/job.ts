import { connect, type NatsConnection } from 'nats';
import { Pool } from 'pg';
import { migrate, openDatabase } from 'temporal-outbox';
import { countFilms, createCatalogue } from './catalogue';
import { readFilms } from './films';
import { importFilms } from './importFilms';
import { mend } from './mend';
import { countDone, countHandled, countUnsettled, findDead, lastHandledAt } from './outbox';
import { waitFor, type Awaited, type Patience } from './patience';
import { countOrders, type PosterLog } from './posterLog';
import type { PosterServer } from './posterServer';
import { progress } from './progress';
import type { Report } from './report';
import { countIndexed, createSearchIndex, search } from './searchIndex';
import { countStream, lastSequence } from './stream';
import { countCost } from './temporal';

export interface Surroundings {
  readonly databaseUrl: string;
  /** Undefined in the backend `db`. */
  readonly natsUrl: string | undefined;
  readonly temporalAddress: string;
  readonly uiUrl: string | undefined;
  readonly posters: PosterServer;
  readonly posterLog: PosterLog;
}

const HANDLERS = 2;
const SEARCHED = 'spielberg jurassic';
const RELAY_STUCK = '`npx outbox status` says why, and `npx outbox resume` ends a pause of an earlier run.';
const HANDLERS_STUCK = '`npx outbox handlers` and `npx outbox status` say what waits.';

/** Brings the tables up to date. The worker would migrate its own; here it is done before anything is enqueued. */
export async function prepare(databaseUrl: string): Promise<void> {
  const db = openDatabase({ url: databaseUrl, schema: process.env.OUTBOX_SCHEMA ?? 'public', poolSize: 1 });
  try {
    await migrate(db, (message) => console.error(message));
    await createCatalogue(db.pool);
    await createSearchIndex(db.pool);
  } finally {
    await db.close();
  }
}

/** Imports all films, waits for relay and handlers, mends what died, and counts what came of it. */
export async function runJob(surroundings: Surroundings, patience: Patience): Promise<Report> {
  const pool = new Pool({ connectionString: surroundings.databaseUrl, max: 2 });
  pool.on('error', () => undefined);
  let nats: NatsConnection | undefined;
  try {
    if (surroundings.natsUrl !== undefined) nats = await connectNats(surroundings.natsUrl);
    return await importAndCount(pool, nats, surroundings, patience);
  } finally {
    await nats?.close();
    await pool.end();
  }
}

async function importAndCount(
  pool: Pool,
  nats: NatsConnection | undefined,
  { temporalAddress, uiUrl, posters, posterLog }: Surroundings,
  patience: Patience,
): Promise<Report> {
  const films = readFilms();
  const before = await countFilms(pool);
  if (before > 0)
    console.log(`${before} films are stored from an earlier run; they are imported again, with new events.`);
  const sequence = nats && (await lastSequence(nats));
  const began = new Date();

  const imported = await shown('storing', films.length, (update) => importFilms(pool, films, patience.signal, update));
  const { committed, rolledBack, transactions } = imported;
  const unsettled = { left: () => countUnsettled(pool), stuck: RELAY_STUCK };
  // Without a stream an event is settled only when it has been handled.
  if (nats) await publishing(committed.size, unsettled, patience);
  await handling(pool, committed, patience);
  const mended = await mend(pool, await findDead(pool, committed), { posterUrl: posters.url, uiUrl });
  await waitFor(unsettled, patience);
  const seconds = (Date.now() - began.getTime()) / 1_000;
  console.log(`The index finds "${SEARCHED}" in: ${(await search(pool, SEARCHED, 3)).join(' · ')}\n`);
  return {
    stored: await countFilms(pool),
    ...{ enqueued: committed.size, transactions, rolledBack: rolledBack.size },
    stream: nats && (await countStream(nats, sequence ?? 0, imported)),
    done: await countDone(pool, committed),
    handled: await countHandled(pool, committed),
    ...(await countIndexed(pool, committed)),
    ...countOrders(posterLog, imported),
    calls: { ...posters.calls },
    ...(await countCost(temporalAddress, began, committed)),
    ...mended,
    dead: (await findDead(pool, committed)).length,
    seconds,
  };
}

async function connectNats(servers: string): Promise<NatsConnection> {
  try {
    return await connect({ servers, name: 'movie diary: count' });
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`NATS cannot be reached (${message}): look into its log, or at NATS_URL if that is set.`, {
      cause: error,
    });
  }
}

async function shown<T>(what: string, total: number, work: (update: (done: number) => void) => Promise<T>): Promise<T> {
  const bar = progress(what, total);
  try {
    return await work((done) => bar.update(done));
  } finally {
    bar.end();
  }
}

function publishing(total: number, unsettled: Awaited, patience: Patience): Promise<void> {
  return shown('publishing', total, (update) =>
    waitFor({ ...unsettled, onProgress: (left) => update(Math.max(0, total - left)) }, patience),
  );
}

/** Until each handler is through with each event: it has had its effect, or gave up. */
function handling(pool: Pool, eventIds: ReadonlySet<string>, patience: Patience): Promise<void> {
  const total = HANDLERS * eventIds.size;
  return shown('handling', total, (update) => {
    const left = async () => {
      const letters = await findDead(pool, eventIds);
      const dead = letters.reduce((sum, { handler }) => sum + (handler === null ? HANDLERS : 1), 0);
      const handled = await countHandled(pool, eventIds);
      update(handled);
      return Math.max(0, total - handled - dead);
    };
    return waitFor({ left, sign: () => lastHandledAt(pool), stuck: HANDLERS_STUCK }, patience);
  });
}
