import type { Pool } from 'pg';

/**
 * What is not through yet: rows that wait in the outbox, and effects that are still to come. Dead ones are not awaited.
 * Read several times a second, which `reconcile` is too thorough for; tables and columns of the outbox are fixed names.
 */
export async function countOpen(pool: Pool, outboxSchema: string): Promise<number> {
  const { rows } = await pool.query<{ open: number }>(
    `SELECT ((SELECT count(*) FROM :outbox.event_queue WHERE status NOT IN ('done', 'dead_lettered')) +
             (SELECT count(*)
                FROM :outbox.event_queue q
                JOIN LATERAL jsonb_each((SELECT handler_events FROM :outbox.outbox_installation)) AS h (handler, types)
                  ON h.types ? q.event_type
                LEFT JOIN :outbox.processed_events p ON p.event_id = q.event_id AND p.handler = h.handler AND p.status = 'done'
                LEFT JOIN :outbox.deliveries d ON d.event_id = q.event_id AND d.handler = h.handler AND d.state = 'dead'
               WHERE q.status = 'done' AND p.event_id IS NULL AND d.event_id IS NULL))::integer AS open`.replaceAll(
      ':outbox',
      `"${outboxSchema}"`,
    ),
  );
  return rows[0]?.open ?? 0;
}
