import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { openObjectStore } from '../../src/adapters/objectStore/open';
import type { Instance } from '../../demo/instance';

/** Times, and the keys that each registration draws anew. */
const VOLATILE = [
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?)/g, '<time>'],
  [/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----(\\n)?/g, '<key>'],
] as const;

/** Everything that an instance holds, in an order of its own, for comparison with another run: rows, events and objects. */
export async function endState(instance: Instance, pool: Pool): Promise<Record<string, string[]>> {
  const state: Record<string, string[]> = {};
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1`,
  );
  for (const { name } of tables) state[name] = await texts(pool, `SELECT to_jsonb(t)::text AS text FROM "${name}" t`);
  state.events = await texts(
    pool,
    `SELECT concat_ws(' ', event_type, aggregate_type, aggregate_id, payload, version, status) AS text
       FROM "${instance.options.outboxSchema}".event_queue`,
  );
  const objects = openObjectStore(instance.env.OBJECT_STORE ?? '');
  state.objects = [];
  for (const key of (await objects.list('')).sort()) {
    const body = await objects.get(key);
    state.objects.push(
      `${key} ${createHash('sha256')
        .update(body ?? '')
        .digest('hex')}`,
    );
  }
  return state;
}

async function texts(pool: Pool, sql: string): Promise<string[]> {
  const { rows } = await pool.query<{ text: string }>(sql);
  return rows.map(({ text }) => VOLATILE.reduce((all, [what, by]) => all.replace(what, by), text)).sort();
}
