/**
 * What may be told of a value that PostgreSQL could not take (SQLSTATE classes 22 and 23), or undefined for any other
 * failure. Its own message quotes the value, which a log, a history or a table of failures must not.
 */
export function sqlRefusal(error: object): string | undefined {
  const { code, constraint, table } = error as { code?: unknown; constraint?: unknown; table?: unknown };
  if (typeof code !== 'string' || !/^2[23][0-9A-Z]{3}$/.test(code)) return undefined;
  const where = [
    typeof table === 'string' && `; table ${table}`,
    typeof constraint === 'string' && `; constraint ${constraint}`,
  ];
  return `PostgreSQL refused a value (SQLSTATE ${code}${where.filter(Boolean).join('')})`;
}
