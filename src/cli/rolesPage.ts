import { quotedRole, roleStatements, type Roles } from '../postgres/roles';
import { quotedSchema } from '../postgres/schemaName';

/** A script for `psql`: the statements of `roleStatements` in one transaction, each part with what it is for. */
export function renderRoles(schema: string, roles: Roles): string {
  const [revoke, usage, ...grants] = roleStatements(schema, roles);
  const of = (role: keyof Roles) => grants.filter((grant) => grant.endsWith(` TO ${quotedRole(roles[role])}`));
  const part = (what: string, role: keyof Roles) => [`-- ${what}`, ...of(role).map((grant) => `${grant};`), ''];
  return [
    `-- Grants for the outbox in schema ${quotedSchema(schema)}. Printed, not executed; the owner of the tables runs them:`,
    '--   outbox migrate --roles | psql -v ON_ERROR_STOP=1 "$DATABASE_URL"',
    '-- after `outbox migrate`, and again after each upgrade. The roles must exist, for example by',
    `--   CREATE ROLE ${quotedRole(roles.worker)} LOGIN PASSWORD '...';`,
    '-- Before PostgreSQL 15 every role may create tables in the schema public: REVOKE CREATE ON SCHEMA public FROM PUBLIC;',
    '',
    'BEGIN;',
    `${revoke};`,
    `${usage};`,
    '',
    ...part('The application: writes events with enqueueEvents, and can read, change or delete none.', 'app'),
    ...part('Workers and verbs: no DDL. Handlers also need your grants on the tables that they use.', 'worker'),
    ...part('Operators: status, show, dead list, handlers; no bodies of events, and no change.', 'operator'),
    'COMMIT;',
  ].join('\n');
}
