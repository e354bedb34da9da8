/** The tables stand in `public` unless OUTBOX_SCHEMA names another schema. */
export const DEFAULT_SCHEMA = 'public';

/** The schema of a library call: what the caller names, else OUTBOX_SCHEMA, else `public`. */
export function schemaOf(given: string | undefined): string {
  return given ?? process.env.OUTBOX_SCHEMA ?? DEFAULT_SCHEMA;
}

const ALLOWED = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * Refuses what PostgreSQL would fold, cut at 63 bytes or need quoting for: two spellings must never mean one table,
 * and a name must never become SQL.
 *
 * @throws Error that says what is allowed; TypeError for what is no text
 */
export function schemaName(name: string): string {
  if (typeof name !== 'string') throw new TypeError(`the schema name must be text, not ${typeof name}`);
  if (!ALLOWED.test(name)) {
    throw new Error(
      `the schema name ${JSON.stringify(name.slice(0, 80))} is refused: use 1 to 63 characters, lower-case letters, digits and _, not starting with a digit`,
    );
  }
  return name;
}

/** The name as it stands in SQL: checked, and quoted all the same, so that reserved words such as `user` work. */
export function quotedSchema(name: string): string {
  return `"${schemaName(name)}"`;
}
