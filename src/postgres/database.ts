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
  /** The same for a client of this pool: what to send, planned once per connection while that works. */
  prepare(text: string, values: unknown[]): { text: string; values: unknown[]; name?: string };
  /** @returns true when the error means that prepared statements do not work here; from now on none is used */
  unprepare(error: unknown): boolean;
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
  const runs = new Map<string, number>();
  let preparing = true;
  const prepare = (text: string, values: unknown[]) => {
    const sql = bind(text);
    if (!preparing) return { text: sql, values };
    const run = (runs.get(sql) ?? 0) + 1;
    runs.set(sql, run);
    return { name: statementName(sql, run), text: sql, values };
  };
  const unprepare = (error: unknown) => {
    if (!UNPREPARABLE.has((error as { code?: string } | null)?.code ?? '')) return false;
    preparing = false;
    return true;
  };
  const query = async <Row extends QueryResultRow>(text: string, values?: unknown[], how?: { prepared: boolean }) => {
    if (!how?.prepared || !preparing) return pool.query<Row>(bind(text), values);
    try {
      return await pool.query<Row>(prepare(text, values ?? []));
    } catch (error) {
      // Refused before it ran, so it can run again.
      if (!unprepare(error)) throw error;
      return pool.query<Row>(bind(text), values);
    }
  };
  return { pool, schema, query, prepare, unprepare, close: () => pool.end() };
}

/**
 * A pooler in transaction mode sends the statements of one client to many servers, and some do not follow prepared ones:
 * no such statement, one of that name already there. The third: a migration has changed what the statement returns.
 */
const UNPREPARABLE = new Set(['26000', '42P05', '0A000']);

const digests = new Map<string, string>();

/**
 * From the text with its schema, so that one name never means two statements, whoever shares the connection. A new name
 * at each doubling of the runs: PostgreSQL keeps the plan that it made for a table as small as it was then, and a scan of
 * an empty ledger would still be the plan for a million rows, until an analyze comes round.
 */
function statementName(sql: string, run: number): string {
  let digest = digests.get(sql);
  if (digest === undefined) {
    digest = createHash('sha256').update(sql).digest('hex').slice(0, 24);
    digests.set(sql, digest);
  }
  return `outbox_${digest}_${Math.min(LAST_PLAN, 31 - Math.clz32(run))}`;
}

/** A million runs: autovacuum has analyzed by then. */
const LAST_PLAN = 20;

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
