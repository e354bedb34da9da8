import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { pooled } from './connection';

const DIRECTORY = join(__dirname, '..', '..', '..', 'migrations');

/**
 * Brings this application's tables up to date. Those of the outbox come with `outbox migrate`. Several at once wait for
 * each other; what fails leaves the tables as they were.
 */
export async function migrateDiary(pool: Pool): Promise<void> {
  await pooled(pool).transaction(async (tx) => {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('movie-diary migrations', 0))`);
    await tx.query('CREATE TABLE IF NOT EXISTS diary_migrations (file text PRIMARY KEY)');
    const { rows } = await tx.query('SELECT file FROM diary_migrations');
    const done = new Set((rows as { file: string }[]).map(({ file }) => file));
    for (const file of readdirSync(DIRECTORY).sort()) {
      if (done.has(file)) continue;
      await tx.query(readFileSync(join(DIRECTORY, file), 'utf8'));
      await tx.query('INSERT INTO diary_migrations (file) VALUES ($1)', [file]);
    }
  });
}
