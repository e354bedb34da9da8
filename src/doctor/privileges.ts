import type { Database } from '../postgres/database';
import { lackingPrivileges } from '../postgres/roles';
import { fault, ok, unknown, type Check, type Found } from './finding';

const ROLE = `
  /* outbox: read role */
  SELECT current_user::text AS me, r.oid IS NOT NULL AS known, n.oid IS NOT NULL AS there,
         CASE WHEN r.oid IS NOT NULL AND n.oid IS NOT NULL THEN has_schema_privilege(r.oid, n.oid, 'USAGE') END AS usage
    FROM (SELECT) AS one
    LEFT JOIN pg_roles r ON r.rolname = coalesce($1, current_user) LEFT JOIN pg_namespace n ON n.nspname = $2`;

export const privileges: Check = {
  name: 'privileges',
  look: async ({ db, appRole }) => [
    await lookAt(db, undefined, 'worker', 'a worker'),
    ...(appRole === undefined ? [] : [await lookAt(db, appRole, 'app', 'an application that enqueues')]),
  ],
};

async function lookAt(db: Database, asked: string | undefined, kind: 'app' | 'worker', who: string): Promise<Found> {
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
  const missing = new Map<string, string[]>();
  for (const { table, privilege } of await lackingPrivileges(db, kind, role))
    missing.set(table, [...(missing.get(table) ?? []), privilege]);
  if (missing.size === 0) return ok(`The role ${role} has what ${who} needs.`);
  const byTable = [...missing].sort().map(([table, lacking]) => ({ table, lacking: lacking.join(', ') }));
  const lacks = byTable.map(({ table, lacking }) => `${lacking} on ${table}`).join('; ');
  const grants = byTable.map(
    ({ table, lacking }) => `GRANT ${lacking} ON ${quoted(schema)}.${table} TO ${quoted(role)}`,
  );
  return fault(`The role ${role} lacks ${lacks}, which ${who} needs.`, `Run as their owner: ${grants.join('; ')}`);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
