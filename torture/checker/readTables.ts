import type { Client, QueryResultRow } from 'pg';
import type { BusinessRow, DeliveryRow, EffectRow, History, LedgerRow, QueueRow } from './history';

/** What the tables say, in one snapshot. @param schema where the outbox is; the application's tables are in `public` */
export async function readTables(
  client: Client,
  schema: string,
): Promise<Pick<History, 'business' | 'queue' | 'ledger' | 'deliveries' | 'effects'>> {
  const read = async <Row extends QueryResultRow>(sql: string) => (await client.query<Row>(sql)).rows;
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const tables = {
    business: await read<BusinessRow>(
      'SELECT event_id::text AS "eventId", type, producer, cause::text AS cause FROM public.business',
    ),
    effects: await read<EffectRow>('SELECT event_id::text AS "eventId", handler, attempt FROM public.effects'),
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
