import type { Database } from '../../src/postgres/database';
import { eventually } from './eventually';

/** Ledger rows of a handler that are done. */
export async function countDone(db: Database, handler: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM :schema.processed_events WHERE handler = $1 AND status = 'done'`,
    [handler],
  );
  return rows[0]?.count ?? 0;
}

/** Resolves when the ledger says done for so many events of a handler. */
export async function allHandled(db: Database, handler: string, events: number, ms = 50_000): Promise<void> {
  await eventually(
    async () => {
      const done = await countDone(db, handler);
      if (done !== events) throw new Error(`${done} of ${events} are done`);
      return true;
    },
    ms,
    `${events} events handled by ${handler}`,
  );
}

export interface DeliveryRow {
  readonly event_id: string;
  readonly handler: string;
  readonly state: 'waiting' | 'dead' | 'skipped';
  readonly attempts: number;
  readonly next_at: Date | null;
  readonly failure_reason: string | null;
  readonly source: string;
}

export async function deliveryRows(db: Database): Promise<DeliveryRow[]> {
  return (await db.query<DeliveryRow>(`SELECT * FROM :schema.deliveries ORDER BY event_id, handler`)).rows;
}

/** Everything that is in progress or waits. */
export async function unfinished(db: Database): Promise<{ inProgress: number; waiting: number }> {
  const { rows } = await db.query<{ inProgress: number; waiting: number }>(
    `SELECT (SELECT count(*)::integer FROM :schema.processed_events WHERE status = 'in_progress') AS "inProgress",
            (SELECT count(*)::integer FROM :schema.deliveries WHERE state = 'waiting') AS waiting`,
  );
  return rows[0] ?? { inProgress: -1, waiting: -1 };
}
