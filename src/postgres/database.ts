import { createHash } from 'node:crypto';
import { Pool, type PoolConfig, type QueryResult, type QueryResultRow } from 'pg';
import { quotedSchema } from './schemaName';

/** Anything that runs a statement as `pg` does; an adapter for another query builder is one line. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rows: any[]; rowCount?: number | null }>; // eslint-disable-line @typescript-eslint/no-explicit-any -- `pg`'s own row type
}

/** A pool and the schema whose tables stand for `:schema` in a statement. */
export interface Database {
  readonly pool: Pool;
  readonly schema: string;
  /** @param how `prepared` plans the statement once per connection; for the few that run all the time */
  query<Row extends QueryResultRow>(
    text: string,
    values?: unknown[],
    how?: { prepared: boolean },
  ): Promise<QueryResult<Row>>;
  close(): Promise<void>;
}

/**
 * A pool over `url`. A connection that dies while idle is replaced at the next query: without the `error` listener
 * that event would end the process (C38).
 *
 * @param onIdleError told of such a death; the error never holds a query or its values
 */
export function openDatabase(
  options: { url: string; schema: string; poolSize?: number; applicationName?: string } & Pick<
    PoolConfig,
    'connectionTimeoutMillis' | 'query_timeout'
  >,
  onIdleError: (error: Error) => void = () => undefined,
): Database {
  const pool = new Pool({
    connectionString: options.url,
    max: options.poolSize ?? 6,
    application_name: options.applicationName ?? 'temporal-outbox',
    // A server that accepts the connection but never answers must not hold a claim for ever.
    connectionTimeoutMillis: options.connectionTimeoutMillis ?? 10_000,
    ...(options.query_timeout !== undefined && { query_timeout: options.query_timeout }),
    keepAlive: true,
  });
  pool.on('error', onIdleError);
  return databaseOver(pool, options.schema);
}

/** The caller keeps ownership of the pool: `close` ends it only when called. */
export function databaseOver(pool: Pool, schema: string): Database {
  const bind = binder(schema);
  const names = new Map<string, string>();
  let preparing = true;
  const query = async <Row extends QueryResultRow>(text: string, values?: unknown[], how?: { prepared: boolean }) => {
    const sql = bind(text);
    if (!how?.prepared || !preparing) return pool.query<Row>(sql, values);
    let name = names.get(sql);
    if (name === undefined) names.set(sql, (name = statementName(sql)));
    try {
      return await pool.query<Row>({ name, text: sql, ...(values && { values }) });
    } catch (error) {
      if (!UNPREPARABLE.has((error as { code?: string }).code ?? '')) throw error;
      // Refused before it ran, so it can run again: from now on without preparing.
      preparing = false;
      return pool.query<Row>(sql, values);
    }
  };
  return { pool, schema, query, close: () => pool.end() };
}

/**
 * A pooler in transaction mode sends the statements of one client to many servers, and some do not follow prepared ones:
 * no such statement, one of that name already there. The third: a migration has changed what the statement returns.
 */
const UNPREPARABLE = new Set(['26000', '42P05', '0A000']);

/** From the text and its schema, so that one name never means two statements, whoever shares the connection. */
function statementName(sql: string): string {
  return `outbox_${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`;
}

/** Puts the quoted schema where a statement says `:schema`. The name is checked once, here, before any SQL. */
export function binder(schema: string): (text: string) => string {
  const quoted = quotedSchema(schema);
  const bound = new Map<string, string>();
  return (text) => {
    let sql = bound.get(text);
    if (sql === undefined) {
      sql = text.replaceAll(':schema', quoted);
      bound.set(text, sql);
    }
    return sql;
  };
}
