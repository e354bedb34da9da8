import { enqueueEvents } from '../../src/outbox/enqueue';
import type { World } from './world';

/**
 * One event and its business row, in a transaction that stays open as long as `open` takes.
 *
 * @param given.commits false: it is rolled back, and nothing of it may ever be seen
 * @returns its id
 */
export async function writeEvent(
  { db }: World,
  given: { readonly type: string; readonly payload: { readonly n: number }; readonly commits: boolean },
  open: () => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  const { type, payload, commits } = given;
  const client = await db.pool.connect();
  // A fault may end the connection: then nothing was written.
  client.on('error', () => undefined);
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    const event = { type, aggregateType: 'thing', aggregateId: `a${payload.n % 60}`, payload };
    const [id = ''] = await enqueueEvents(client, [event], { schema: db.schema });
    await client.query('INSERT INTO public.business (event_id, type, producer) VALUES ($1, $2, $3)', [
      ...[id, type, 'the nemesis'],
    ]);
    await open();
    await client.query(commits ? 'COMMIT' : 'ROLLBACK');
    return id;
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    client.release(broken ?? false);
  }
}
