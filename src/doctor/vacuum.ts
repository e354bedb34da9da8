import { fault, ok, warning, type Check, type Found } from './finding';

const TABLES = `
  /* outbox: read vacuum */
  SELECT c.relname AS "table", coalesce(s.n_dead_tup, 0)::float8 AS dead, coalesce(s.n_live_tup, 0)::float8 AS live,
         current_setting('autovacuum') = 'on' AS server, EXISTS (SELECT FROM pg_options_to_table(c.reloptions)
                  WHERE option_name = 'autovacuum_enabled' AND NOT option_value::boolean) AS off
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
   WHERE n.nspname = $1 AND c.relname IN ('event_queue', 'processed_events', 'deliveries') ORDER BY 1`;

interface Row {
  readonly table: string;
  readonly dead: number;
  readonly live: number;
  readonly server: boolean;
  readonly off: boolean;
}

/** A queue that is not vacuumed makes claims slower by the hour. */
export const vacuum: Check = {
  name: 'autovacuum',
  look: async ({ db }) => {
    const { rows } = await db.query<{ [name in keyof Row]: Row[name] }>(TABLES, [db.schema]);
    if (rows.length === 0) return [];
    if (rows.some(({ server }) => !server)) {
      return [
        fault(
          'Autovacuum is off on this server: claims become slower with every event.',
          'Run as a superuser: ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf()',
        ),
      ];
    }
    const found = rows.flatMap((row) => judge(row, db.schema));
    return found.length > 0 ? found : [ok('Autovacuum is on for the hot tables, and keeps up.')];
  },
};

export function judge({ table, dead, live, off }: Row, schema: string): Found[] {
  const name = `"${schema}".${table}`;
  if (off) {
    return [
      fault(
        `Autovacuum is switched off for ${table}.`,
        `Run as its owner: ALTER TABLE ${name} RESET (autovacuum_enabled)`,
      ),
    ];
  }
  // Fewer come and go between two of its rounds.
  if (dead < 100_000 || dead < live) return [];
  return [
    warning(
      `${table} has ${dead.toLocaleString('en-US')} dead rows beside ${live.toLocaleString('en-US')} live ones: autovacuum does not keep up, or something holds it back.`,
      `See the check of old transactions; then run: VACUUM (ANALYZE) ${name}`,
    ),
  ];
}
