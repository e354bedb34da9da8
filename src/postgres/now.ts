import type { Database } from './database';

const NOW = `/* outbox: read clock */ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`;

/** The database's clock, in milliseconds since 1970. */
export async function databaseNow(db: Database): Promise<number> {
  const { rows } = await db.query<{ now: number }>(NOW);
  return rows[0]?.now ?? NaN;
}
