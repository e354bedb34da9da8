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
  query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<Row>>;
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
    'connectionTimeoutMillis'
  >,
  onIdleError: (error: Error) => void = () => undefined,
): Database {
  const pool = new Pool({
    connectionString: options.url,
    max: options.poolSize ?? 6,
    application_name: options.applicationName ?? 'temporal-outbox',
    // A server that accepts the connection but never answers must not hold a claim for ever.
    connectionTimeoutMillis: options.connectionTimeoutMillis ?? 10_000,
    keepAlive: true,
  });
  pool.on('error', onIdleError);
  return databaseOver(pool, options.schema);
}

/** The caller keeps ownership of the pool: `close` ends it only when called. */
export function databaseOver(pool: Pool, schema: string): Database {
  const bind = binder(schema);
  return {
    pool,
    schema,
    query: (text, values) => pool.query(bind(text), values),
    close: () => pool.end(),
  };
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
