import type { Database } from '../postgres/database';
import { fault, ok, unknown, type Check, type Found } from './finding';

const WORKER: readonly (readonly [table: string, privileges: string])[] = [
  ['event_queue', 'SELECT, INSERT, UPDATE, DELETE'],
  ['processed_events', 'SELECT, INSERT, UPDATE, DELETE'],
  ['deliveries', 'SELECT, INSERT, UPDATE, DELETE'],
  ['relay_fence', 'SELECT, UPDATE'],
  ['outbox_installation', 'SELECT, UPDATE'],
  ['outbox_migrations', 'SELECT'],
];
/** Enqueueing is one INSERT that returns nothing. */
const APPLICATION: typeof WORKER = [['event_queue', 'INSERT']];

/** The comma of `has_table_privilege` means "or", so each is asked alone. A table that is not there lacks nothing here. */
const MISSING = `
  SELECT w.tab AS "table", string_agg(p.privilege, ', ') AS missing
    FROM jsonb_each_text($2::jsonb) AS w (tab, privileges), unnest(string_to_array(w.privileges, ', ')) AS p (privilege)
   WHERE to_regclass(format('%I.%I', $3::text, w.tab)) IS NOT NULL
     AND NOT has_table_privilege($1::name, to_regclass(format('%I.%I', $3::text, w.tab)), p.privilege)
   GROUP BY w.tab ORDER BY w.tab`;

const ROLE = `
  SELECT current_user::text AS me, EXISTS (SELECT FROM pg_roles WHERE rolname = coalesce($1, current_user)) AS known,
         to_regnamespace(quote_ident($2)) IS NOT NULL AS there,
         CASE WHEN to_regnamespace(quote_ident($2)) IS NOT NULL AND EXISTS (SELECT FROM pg_roles WHERE rolname = coalesce($1, current_user))
              THEN has_schema_privilege(coalesce($1, current_user)::name, quote_ident($2), 'USAGE') END AS usage`;

export const privileges: Check = {
  name: 'privileges',
  look: async ({ db, appRole }) => [
    await lookAt(db, undefined, WORKER, 'a worker'),
    ...(appRole === undefined ? [] : [await lookAt(db, appRole, APPLICATION, 'an application that enqueues')]),
  ],
};

async function lookAt(db: Database, asked: string | undefined, wanted: typeof WORKER, who: string): Promise<Found> {
  const { schema } = db;
  const { rows } = await db.query<{ me: string; known: boolean; there: boolean; usage: boolean | null }>(ROLE, [
    asked ?? null,
    schema,
  ]);
  const [{ me, known, there, usage } = { me: '', known: false, there: false, usage: null }] = rows;
  const role = asked ?? me;
  if (!known) return fault(`There is no role ${role}.`, `Create it: CREATE ROLE ${quoted(role)} LOGIN`);
  if (!there) return unknown(`There is no schema ${schema} yet.`, 'Run: outbox migrate');
  if (!usage) {
    return fault(
      `The role ${role} may not use the schema ${schema}, as ${who} must.`,
      `Run as its owner: GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${quoted(role)}`,
    );
  }
  const found = await db.query<{ table: string; missing: string }>(MISSING, [
    role,
    JSON.stringify(Object.fromEntries(wanted)),
    schema,
  ]);
  if (found.rows.length === 0) return ok(`The role ${role} has what ${who} needs.`);
  const lacks = found.rows.map(({ table, missing }) => `${missing} on ${table}`).join('; ');
  const grants = found.rows.map(
    ({ table, missing }) => `GRANT ${missing} ON ${quoted(schema)}.${table} TO ${quoted(role)}`,
  );
  return fault(`The role ${role} lacks ${lacks}, which ${who} needs.`, `Run as their owner: ${grants.join('; ')}`);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
