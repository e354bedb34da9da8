import { connect } from 'nats';
import { Pool } from 'pg';
import { migrate, openDatabase } from 'temporal-outbox';
import { countFilms, createCatalogue } from './catalogue';
import { readFilms } from './films';
import { importFilms } from './importFilms';
import { countDead, settled } from './outbox';
import { progress } from './progress';
import type { Report } from './report';
import { countStream, lastSequence } from './stream';
import { countActivities } from './temporal';

export interface Addresses {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly temporalAddress: string;
}

/** Brings the outbox's tables up to date. The worker would too; here it is done before anything is enqueued. */
export async function prepare({ databaseUrl }: Addresses): Promise<void> {
  const db = openDatabase({ url: databaseUrl, schema: process.env.OUTBOX_SCHEMA ?? 'public', poolSize: 1 });
  try {
    await migrate(db, (message) => console.error(message));
  } finally {
    await db.close();
  }
}

/**
 * Imports all films, waits for the relay, and counts what came of it.
 *
 * @param patienceMs how long the relay may publish nothing before the wait is given up
 */
export async function runJob(addresses: Addresses, signal: AbortSignal, patienceMs: number): Promise<Report> {
  const pool = new Pool({ connectionString: addresses.databaseUrl, max: 2 });
  pool.on('error', () => undefined);
  const nats = await connect({ servers: addresses.natsUrl, name: 'movie diary: count' }).catch(async (error: Error) => {
    await pool.end();
    throw new Error(`NATS cannot be reached (${error.message}): look into its log, or at NATS_URL if that is set.`);
  });
  try {
    await createCatalogue(pool);
    const films = readFilms();
    const before = await countFilms(pool);
    if (before > 0)
      console.log(`${before} films are stored from an earlier run; they are imported again, with new events.`);
    const sequence = await lastSequence(nats);
    const began = new Date();

    const storing = progress('storing', films.length);
    const imported = await importFilms(pool, films, signal, (stored) => storing.update(stored)).finally(() =>
      storing.end(),
    );
    const publishing = progress('publishing', imported.committed.size);
    const left = (rows: number) => publishing.update(Math.max(0, imported.committed.size - rows));
    await settled(pool, signal, left, patienceMs).finally(() => publishing.end());

    const seconds = (Date.now() - began.getTime()) / 1_000;
    return {
      stored: await countFilms(pool),
      enqueued: imported.committed.size,
      transactions: imported.transactions,
      rolledBack: imported.rolledBack.size,
      ...(await countStream(nats, sequence, imported)),
      dead: await countDead(pool, imported.committed),
      seconds,
      activities: await countActivities(addresses.temporalAddress, began),
    };
  } finally {
    await nats.close();
    await pool.end();
  }
}
