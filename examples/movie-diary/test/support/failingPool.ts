import type { Pool, PoolClient } from 'pg';

/** `error`: the database refuses the statement; `cut`: the connection is gone when the statement is sent. */
export type Failure = 'error' | 'cut';

/**
 * A pool over which one statement fails, by a real error of PostgreSQL. BEGIN and COMMIT count; ROLLBACK does not, since it
 * only follows a failure.
 */
export class FailingPool {
  private count = 0;
  /** What failed; undefined while nothing has. */
  failed: string | undefined;

  /** @param at which statement fails, the first being 1 */
  constructor(
    private readonly pool: Pool,
    private readonly at: number,
    private readonly failure: Failure,
  ) {}

  /** What `pooled` takes. */
  asPool(): Pick<Pool, 'connect' | 'query'> {
    return {
      query: (text: string, values?: unknown[]) => this.run(this.pool, text, values),
      connect: async () => this.wrapped(await this.pool.connect()),
    } as unknown as Pick<Pool, 'connect' | 'query'>;
  }

  private wrapped(client: PoolClient): PoolClient {
    return new Proxy(client, {
      get: (target, name) => {
        if (name === 'query') return (text: string, values?: unknown[]) => this.run(target, text, values);
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  private async run(target: Pool | PoolClient, text: string, values?: unknown[]): Promise<unknown> {
    if (text === 'ROLLBACK' || ++this.count !== this.at) return target.query(text, values);
    this.failed = text;
    if (this.failure === 'error') return target.query('SELECT 1/0');
    const { rows } = await target.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await this.pool.query('SELECT pg_terminate_backend($1, 30000)', [rows[0]?.pid]);
    return target.query(text, values);
  }
}
