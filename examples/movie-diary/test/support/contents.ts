import type { Pool } from 'pg';

/** All rows of all tables, the outbox's among them, as text that is equal exactly when they are. */
export type Contents = ReadonlyMap<string, string>;

export async function contentsOf(pool: Pool): Promise<Contents> {
  const { rows: tables } = await pool.query<{ schema: string; name: string }>(
    `SELECT schemaname AS schema, tablename AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2`,
  );
  const all = tables.map(
    ({ schema, name }) =>
      `SELECT '${name}' AS name, coalesce(jsonb_agg(to_jsonb(t) ORDER BY to_jsonb(t)::text), '[]')::text AS rows
         FROM "${schema}"."${name}" AS t`,
  );
  const { rows } = await pool.query<{ name: string; rows: string }>(all.join('\nUNION ALL\n'));
  return new Map(rows.map(({ name, rows: text }) => [name, text]));
}

/** The tables that differ. */
export function changed(before: Contents, after: Contents): string[] {
  return [...after.keys()].filter((name) => before.get(name) !== after.get(name)).sort();
}

/** Types of the events in the outbox, sorted. */
export function eventTypes(contents: Contents): string[] {
  const rows = JSON.parse(contents.get('event_queue') ?? '[]') as { event_type: string }[];
  return rows.map(({ event_type }) => event_type).sort();
}
