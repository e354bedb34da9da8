import type { Pool } from 'pg';

/** What is not through, by id: the event, the handler that it waits for, and what is known of why. For whoever is stuck. */
export async function findOpen(pool: Pool, outboxSchema: string, limit = 20): Promise<string[]> {
  const { rows } = await pool.query<{ text: string }>(
    `SELECT concat_ws(' ', q.event_id, q.event_type, 'row', q.status, 'at', coalesce(h.handler, 'the relay'), 'ledger',
                      p.status, p.lease_until, 'delivery', d.state, d.attempts, 'next', d.next_at, d.failure_reason) AS text
       FROM :outbox.event_queue q
       LEFT JOIN LATERAL jsonb_each((SELECT handler_events FROM :outbox.outbox_installation)) AS h (handler, types)
         ON h.types ? q.event_type
       LEFT JOIN :outbox.processed_events p ON p.event_id = q.event_id AND p.handler = h.handler
       LEFT JOIN :outbox.deliveries d ON d.event_id = q.event_id AND d.handler = h.handler
      WHERE q.status NOT IN ('done', 'dead_lettered')
         OR (q.status = 'done' AND h.handler IS NOT NULL AND p.status IS DISTINCT FROM 'done' AND d.state IS DISTINCT FROM 'dead')
      ORDER BY q.id LIMIT $1`.replaceAll(':outbox', `"${outboxSchema}"`),
    [limit],
  );
  return rows.map(({ text }) => text);
}
