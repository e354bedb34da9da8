import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from './job';

const LOOK_MS = 50;

/** Resolves when a handler has finished an event of this run, on whichever instance, with the seconds since the start of the process. */
export async function firstHandled(running: readonly Running[], signal: AbortSignal): Promise<number> {
  const since = await Promise.all(
    running.map(async ({ pool }) => (await pool.query<{ now: string }>('SELECT now()::text AS now')).rows[0]?.now),
  );
  for (;;) {
    const found = await Promise.all(
      running.map(async ({ pool, instance }, index) => {
        const table = `"${instance.options.outboxSchema}".processed_events`;
        const sql = `SELECT FROM ${table} WHERE status = 'done' AND processed_at >= $1::timestamptz LIMIT 1`;
        return (await pool.query(sql, [since[index]])).rows.length > 0;
      }),
    );
    if (found.includes(true)) return performance.now() / 1_000;
    await sleep(LOOK_MS, undefined, { signal });
  }
}
