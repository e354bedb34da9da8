import { DatabaseError } from 'pg';

/**
 * Codes behind which a transaction may be there all the same: of a connection (08), of a statement whose end is unknown
 * (40003), of a server that ends (57P), fails at its files (58) or in itself (XX). Poolers put theirs among them.
 */
const UNKNOWN_END = /^(08|40003|57P|58|XX)/;

/**
 * Whether an error of COMMIT is PostgreSQL's word that nothing was written, as of a constraint that is checked at the
 * end; a lost connection has none. By the code: severity and message are in the language of `lc_messages`. A server that
 * panics has any code, so whoever asks must know as well that the connection is still there.
 */
export function isRefusedCommit(error: unknown): boolean {
  // An error of the socket has a code of its own, and some of those have five letters, too: EPIPE.
  return error instanceof DatabaseError && error.code !== undefined && !UNKNOWN_END.test(error.code);
}
