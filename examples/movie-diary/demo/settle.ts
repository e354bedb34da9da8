import type { Pool } from 'pg';

/**
 * What is not through yet: rows that wait in the outbox, without a handler, and effects that are still to come. Dead ones
 * are not awaited. Tables and columns of the outbox are fixed names.
 */
const OPEN = `
  SELECT id, event_id, event_type, status, NULL AS handler
    FROM :outbox.event_queue WHERE status NOT IN ('done', 'dead_lettered')
  UNION ALL
  SELECT q.id, q.event_id, q.event_type, q.status, h.handler
    FROM :outbox.event_queue q
    JOIN LATERAL jsonb_each((SELECT handler_events FROM :outbox.outbox_installation)) AS h (handler, types)
      ON h.types ? q.event_type
    LEFT JOIN :outbox.processed_events p ON p.event_id = q.event_id AND p.handler = h.handler AND p.status = 'done'
    LEFT JOIN :outbox.deliveries d ON d.event_id = q.event_id AND d.handler = h.handler AND d.state = 'dead'
   WHERE q.status = 'done' AND p.event_id IS NULL AND d.event_id IS NULL`;

/** Read several times a second, which `reconcile` is too thorough for. */
export async function countOpen(pool: Pool, outboxSchema: string): Promise<number> {
  const { rows } = await pool.query<{ open: number }>(
    within(outboxSchema, `SELECT count(*)::integer AS open FROM (${OPEN}) AS o`),
  );
  return rows[0]?.open ?? 0;
}

/** The same by id, with what ledger and deliveries know of why: for whoever is stuck. */
export async function findOpen(pool: Pool, outboxSchema: string, limit = 20): Promise<string[]> {
  const { rows } = await pool.query<{ text: string }>(
    within(
      outboxSchema,
      `SELECT concat_ws(' ', o.event_id, o.event_type, 'row', o.status, 'at', coalesce(o.handler, d.handler, 'the relay'),
                        'ledger', p.status, p.lease_until, 'delivery', d.state, d.attempts, 'next', d.next_at,
                        d.failure_reason) AS text
         FROM (${OPEN}) AS o
         LEFT JOIN :outbox.deliveries d ON d.event_id = o.event_id AND d.handler = coalesce(o.handler, d.handler)
         LEFT JOIN :outbox.processed_events p ON p.event_id = o.event_id AND p.handler = coalesce(o.handler, d.handler)
        ORDER BY o.id LIMIT $1`,
    ),
    [limit],
  );
  return rows.map(({ text }) => text);
}

function within(outboxSchema: string, sql: string): string {
  return sql.replaceAll(':outbox', `"${outboxSchema}"`);
}
