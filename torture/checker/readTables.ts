import type { Client, QueryResultRow } from 'pg';
import { now } from '../clock';
import type { BusinessRow, DeliveryRow, EffectRow, History, LedgerRow, QueueRow, RemovedRow } from './history';

/** What the tables say, in one snapshot. @param schema where the outbox is; the application's tables are in `public` */
export async function readTables(
  client: Client,
  schema: string,
): Promise<Pick<History, 'business' | 'queue' | 'ledger' | 'deliveries' | 'effects' | 'removed'>> {
  const read = async <Row extends QueryResultRow>(sql: string) => (await client.query<Row>(sql)).rows;
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const tables = {
    business: await read<BusinessRow>(
      'SELECT event_id::text AS "eventId", type, producer, cause::text AS cause FROM public.business',
    ),
    effects: await read<EffectRow>('SELECT event_id::text AS "eventId", handler, attempt FROM public.effects'),
    removed: await readRemoved(client),
    queue: await read<QueueRow>(
      `SELECT event_id::text AS "eventId", event_type AS type, status, attempts, failure_reason AS reason FROM ${schema}.event_queue`,
    ),
    ledger: await read<LedgerRow>(
      `SELECT event_id::text AS "eventId", handler, status FROM ${schema}.processed_events`,
    ),
    deliveries: await read<DeliveryRow>(
      `SELECT event_id::text AS "eventId", handler, state, attempts, failure_reason AS reason FROM ${schema}.deliveries`,
    ),
  };
  await client.query('COMMIT');
  return tables;
}

/** Times by the machine's wall clock, which PostgreSQL reads and no fault moves, become those of the shared clock. */
async function readRemoved(client: Client): Promise<RemovedRow[]> {
  const ahead = Date.now() - now();
  const { rows } = await client.query<RemovedRow>(
    `SELECT event_id::text AS "eventId", status, done_for_ms AS "doneForMs", open,
            (extract(epoch FROM at) * 1000)::float8 AS at
       FROM public.removed`,
  );
  return rows.map((row) => ({ ...row, at: row.at - ahead }));
}
