import { duration, plain } from '../cli/output';
import type { Database } from '../postgres/database';
import { ok, warning, type Check, type Found } from './finding';

/** No statement of ours, and no healthy request of an application, takes that long. */
const OLD_MS = 300_000;

const SESSIONS = `
  /* outbox: list sessions */
  SELECT pid, coalesce(nullif(application_name, ''), 'without a name') AS name, coalesce(usename, '') AS role, state,
         (extract(epoch FROM clock_timestamp() - xact_start) * 1000)::float8 AS "ageMs"
    FROM pg_stat_activity
   WHERE xact_start < clock_timestamp() - $1::float8 * interval '1 millisecond' AND datname = current_database()
     AND pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY xact_start LIMIT 5`;

const PREPARED = `
  /* outbox: list prepared transactions */
  SELECT gid, (extract(epoch FROM clock_timestamp() - prepared) * 1000)::float8 AS "ageMs"
    FROM pg_prepared_xacts
   WHERE prepared < clock_timestamp() - $1::float8 * interval '1 millisecond' AND database = current_database()
   ORDER BY prepared LIMIT 5`;

/** PostgreSQL hides from others since when a session's transaction has been open. */
const SEES_ALL = `/* outbox: read own role */ SELECT current_user::text AS me, pg_has_role('pg_read_all_stats', 'USAGE') AS "seesAll"`;

/** What keeps dead rows from being removed: vacuum takes nothing that an open transaction may still see. */
export const transactions: Check = {
  name: 'old transactions',
  look: ({ db }) => findOlderThan(db, OLD_MS),
};

/** @param oldMs from which age on a transaction is told, by the database's clock */
export async function findOlderThan(db: Database, oldMs: number): Promise<Found[]> {
  const sessions = await db.query<{ pid: number; name: string; role: string; state: string | null; ageMs: number }>(
    SESSIONS,
    [oldMs],
  );
  const prepared = await db.query<{ gid: string; ageMs: number }>(PREPARED, [oldMs]);
  const found: Found[] = [
    ...sessions.rows.map(({ pid, name, role, state, ageMs }) =>
      warning(
        `A transaction of ${plain(name)} (role ${role}, process ${pid}, ${state ?? 'state not shown'}) has been open for ${duration(ageMs)}, and holds vacuum back.`,
        `End it where it was begun, or run: SELECT pg_terminate_backend(${pid})`,
      ),
    ),
    ...prepared.rows.map(({ gid, ageMs }) =>
      warning(
        `The prepared transaction ${plain(gid)} has been open for ${duration(ageMs)}, and holds vacuum back.`,
        `Run: COMMIT PREPARED '${gid.replaceAll("'", "''")}', or ROLLBACK PREPARED`,
      ),
    ),
  ];
  const { rows } = await db.query<{ me: string; seesAll: boolean }>(SEES_ALL);
  for (const { me } of rows.filter(({ seesAll }) => !seesAll)) {
    found.push(
      warning(
        `Only transactions of ${me} itself were looked at: PostgreSQL hides those of other roles.`,
        `Run as a superuser: GRANT pg_read_all_stats TO "${me.replaceAll('"', '""')}"`,
      ),
    );
  }
  return found.length > 0 ? found : [ok(`No transaction of this database is older than ${duration(oldMs)}.`)];
}
