import type { Pool } from 'pg';
import type { Entries } from './compare';

/** The rows of a query that gives `id` and, where more than the id must agree, `value`. */
export async function entries(pool: Pool, sql: string, values: unknown[] = []): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; value?: string }>(sql, values);
  return new Map(rows.map(({ id, value = '' }) => [id, value]));
}

export function ids(set: Iterable<string>): Entries {
  return new Map([...set].map((id) => [id, '']));
}
