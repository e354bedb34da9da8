import type { Database } from './database';
import { quotedSchema } from './schemaName';

/** Who connects to the database, each with no more than it needs. */
export interface Roles {
  /** Writes events with `enqueueEvents`, and can read, change or delete none. */
  readonly app: string;
  /** Runs `outbox worker` and the verbs; creates and alters nothing. */
  readonly worker: string;
  /** Looks at everything but the bodies of events, and changes nothing. */
  readonly operator: string;
}

export const DEFAULT_ROLES: Roles = { app: 'outbox_app', worker: 'outbox_worker', operator: 'outbox_operator' };

/** What `enqueueEvents` writes; all else has a default that a writer has no business to set. */
const WRITTEN =
  'INSERT (event_id, event_type, aggregate_type, aggregate_id, company_id, org_unit_id, payload, headers, version, correlation_id, causation_id, occurred_at, available_at)';

const EVENT_COLUMNS_WITHOUT_BODY =
  'SELECT (id, event_id, event_type, aggregate_type, aggregate_id, company_id, org_unit_id, headers, version, correlation_id, causation_id, occurred_at, available_at, status, attempts, published_at, failed_at, failure_reason, claimed_at, claim_token, deferrals, retry_at, payload_bytes)';

const DELIVERY_COLUMNS_WITHOUT_BODY =
  'SELECT (event_id, handler, state, attempts, next_at, failure_reason, source, touched_at, failed_at, event_type, aggregate_type, aggregate_id, company_id)';

/** By table: every table that the migrations make stands here, which a test compares. */
const PRIVILEGES: Readonly<Record<string, Readonly<Partial<Record<keyof Roles, readonly string[]>>>>> = {
  event_queue: {
    app: [WRITTEN],
    // Handlers write follow-up events; retention deletes.
    worker: ['SELECT', WRITTEN, 'UPDATE', 'DELETE'],
    operator: [EVENT_COLUMNS_WITHOUT_BODY],
  },
  processed_events: { worker: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'], operator: ['SELECT'] },
  deliveries: { worker: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'], operator: [DELIVERY_COLUMNS_WITHOUT_BODY] },
  // A claim reads it FOR SHARE, which takes UPDATE as well.
  relay_fence: { worker: ['SELECT', 'UPDATE'], operator: ['SELECT'] },
  outbox_installation: { worker: ['SELECT', 'UPDATE'], operator: ['SELECT'] },
  outbox_migrations: { worker: ['SELECT'], operator: ['SELECT'] },
};

/**
 * The statements that give each role exactly what it needs in this schema; for the owner of the tables to run, as often
 * as he likes. Roles themselves are neither made nor given a login.
 *
 * @throws Error for a name that PostgreSQL would take for something else
 */
export function roleStatements(schema: string, roles: Roles): string[] {
  const quoted = quotedSchema(schema);
  const names = Object.values(roles).map(quotedRole);
  if (new Set(names).size < names.length) throw new Error('the three roles must be three: give each a name of its own');
  const tables = Object.keys(PRIVILEGES).map((table) => `${quoted}.${table}`);
  return [
    `REVOKE ALL ON ${tables.join(', ')} FROM ${names.join(', ')}`,
    `GRANT USAGE ON SCHEMA ${quoted} TO ${names.join(', ')}`,
    ...(Object.keys(roles) as (keyof Roles)[]).flatMap((role) =>
      Object.entries(PRIVILEGES).flatMap(([table, granted]) => {
        const privileges = granted[role];
        return privileges ? [`GRANT ${privileges.join(', ')} ON ${quoted}.${table} TO ${quotedRole(roles[role])}`] : [];
      }),
    ),
  ];
}

/** As it stands in SQL: any name that a role can have, and none that means more than one role. */
export function quotedRole(name: string): string {
  // Quoted or not, PostgreSQL reads `public` as everybody and `none` as nobody.
  if (['public', 'none'].includes(name) || name.startsWith('pg_'))
    throw new Error(`the role name ${name} is refused: PostgreSQL keeps it for itself`);
  // eslint-disable-next-line no-control-regex -- a line break would end the comment that the name is printed in
  if (name === '' || Buffer.byteLength(name) > 63 || /[\u0000-\u001f\u007f]/.test(name))
    throw new Error('a role name has 1 to 63 bytes, without control characters');
  return `"${name.replaceAll('"', '""')}"`;
}

/** A table or column that is not there lacks nothing: the version of the schema is another matter. */
const LACKING = `
  /* outbox: read lacking privileges */
  SELECT wanted.name AS "table", wanted.privilege,
         array_to_string(array_agg(wanted.col ORDER BY wanted.position) FILTER (WHERE wanted.col IS NOT NULL), ', ') AS columns
    FROM jsonb_to_recordset($1::jsonb) AS wanted (name text, privilege text, col text, position integer)
   CROSS JOIN to_regclass(format('%s.%I', $2::text, wanted.name)) AS there
   CROSS JOIN coalesce($3::name, current_user) AS who
    LEFT JOIN pg_attribute a ON a.attrelid = there AND a.attname = wanted.col
   WHERE NOT CASE WHEN wanted.col IS NULL THEN has_table_privilege(who, there, wanted.privilege)
                  ELSE has_column_privilege(who, there, a.attnum, wanted.privilege) END
   GROUP BY wanted.name, wanted.privilege ORDER BY wanted.name, wanted.privilege`;

export interface LackingPrivilege {
  readonly table: string;
  /** As a GRANT names it, with its columns where not all of the table is meant. */
  readonly privilege: string;
}

/**
 * What an application or a worker needs and its role lacks.
 *
 * @param name of the role, which exists; default: the one of this connection
 */
export async function lackingPrivileges(
  db: Database,
  kind: 'app' | 'worker',
  name?: string,
): Promise<LackingPrivilege[]> {
  const wanted = Object.entries(PRIVILEGES).flatMap(([table, { [kind]: privileges = [] }]) =>
    privileges.flatMap((granted) => {
      const [, privilege, columns] = /^(\w+)(?: \((.+)\))?$/.exec(granted) ?? [];
      const each = columns?.split(', ') ?? [null];
      return each.map((col, position) => ({ name: table, privilege, col, position }));
    }),
  );
  const values = [JSON.stringify(wanted), quotedSchema(db.schema), name ?? null];
  const { rows } = await db.query<{ table: string; privilege: string; columns: string | null }>(LACKING, values);
  return rows.map(({ table, privilege, columns }) => ({
    table,
    privilege: columns === null ? privilege : `${privilege} (${columns})`,
  }));
}

/** @throws Error that says what the role lacks, and which command prints the grants */
export async function requirePrivileges(db: Database): Promise<void> {
  const lacking = (await lackingPrivileges(db, 'worker')).map(
    ({ table, privilege }) => `${privilege.split(' ')[0]} on ${table}`,
  );
  if (lacking.length === 0) return;
  throw new Error(
    `The role in DATABASE_URL lacks ${lacking.join(', ')} in schema ${db.schema}: let the owner of the tables run what \`outbox migrate --roles\` prints.`,
  );
}
