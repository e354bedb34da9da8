import type { QueryResultRow } from 'pg';
import { startedAt, type LedgerClaim, type LedgerKey } from './claim';

/** Runs a statement with `:schema` in it: a `Database`, or a transaction of a handler. */
export type Runner = <Row extends QueryResultRow>(
  text: string,
  values: unknown[],
  how?: { prepared: boolean },
) => Promise<{ rows: Row[]; rowCount: number | null }>;

const OURS = `
    FROM unnest($1::uuid[], $2::text[], $3::float8[]) AS g (event_id, handler, started)
   WHERE p.event_id = g.event_id AND p.handler = g.handler
     AND p.status = 'in_progress' AND p.started_at = ${startedAt('g.started')}`;

const KEYS = `RETURNING p.event_id::text || ' ' || p.handler AS key`;

const FINISH = `
  /* outbox: finish ledger */
  UPDATE :schema.processed_events p
     SET status = 'done', processed_at = clock_timestamp(), lease_until = NULL ${OURS}
  ${KEYS}`;

/**
 * The effects are there. In a transactional handler's transaction this commits with them; whoever gets fewer keys than
 * claims has lost one and must roll back, so that not even a worker that was frozen for an hour commits twice.
 *
 * @returns the keys of the claims that were ours
 */
export async function finishLedger(run: Runner, claims: readonly LedgerClaim[]): Promise<ReadonlySet<string>> {
  return keysOf((await run<{ key: string }>(FINISH, columns(claims), { prepared: true })).rows);
}

const RELEASE = `
  /* outbox: release ledger */
  DELETE FROM :schema.processed_events p
   USING unnest($1::uuid[], $2::text[], $3::float8[]) AS g (event_id, handler, started)
   WHERE p.event_id = g.event_id AND p.handler = g.handler
     AND p.status = 'in_progress' AND p.started_at = ${startedAt('g.started')}`;

/** Gives claims back as if they had never been: the handlers did not begin, or the worker's stop cut them short. */
export async function releaseLedger(run: Runner, claims: readonly LedgerClaim[]): Promise<void> {
  await run(RELEASE, columns(claims));
}

const RENEW = `
  /* outbox: renew ledger */
  UPDATE :schema.processed_events p
     SET lease_until = clock_timestamp() + $4::float8 * interval '1 millisecond' ${OURS}
  ${KEYS}`;

/** Renews all claims of a worker in one statement. @returns the keys of those that are still ours */
export async function renewLedger(
  run: Runner,
  claims: readonly LedgerClaim[],
  leaseMs: number,
): Promise<ReadonlySet<string>> {
  return keysOf((await run<{ key: string }>(RENEW, [...columns(claims), leaseMs])).rows);
}

/** A claim among others: event id and handler. */
export function ledgerKey({ eventId, handler }: LedgerKey): string {
  return `${eventId} ${handler}`;
}

function keysOf(rows: readonly { key: string }[]): ReadonlySet<string> {
  return new Set(rows.map(({ key }) => key));
}

function columns(claims: readonly LedgerClaim[]): unknown[] {
  return [
    claims.map(({ eventId }) => eventId),
    claims.map(({ handler }) => handler),
    claims.map((claim) => claim.startedAt),
  ];
}
