import type { Database } from '../postgres/database';
import { startedAt, type LedgerClaim } from './claim';

const READ = `
  /* outbox: read ledger */
  SELECT p.status = 'done' AS done, p.started_at = ${startedAt('$3::float8')} AS ours
    FROM :schema.processed_events p WHERE p.event_id = $1 AND p.handler = $2`;

/** What became of a claim whose transaction ended without an answer. */
export async function readClaim(db: Database, claim: LedgerClaim): Promise<'done' | 'ours' | 'gone'> {
  const { rows } = await db.query<{ done: boolean; ours: boolean }>(READ, [
    claim.eventId,
    claim.handler,
    claim.startedAt,
  ]);
  const row = rows[0];
  if (row?.done) return 'done';
  return row?.ours ? 'ours' : 'gone';
}
