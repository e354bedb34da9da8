/** What PostgreSQL or the socket says when the server goes, comes, or cannot take more. */
export const OUTAGE_CODE = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|57P0|08|53)/;
const MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Client was closed)/;

/** The database was away, and not the statement wrong: the same again may succeed. */
export function isOutage(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && OUTAGE_CODE.test(code)) return true;
  return error instanceof Error && MESSAGES.test(error.message);
}

/** A privilege that is missing, or a server that takes no writes, as during a fail-over: the same again may succeed once mended. */
export function isWithheld(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === '42501' || code === '25006';
}
