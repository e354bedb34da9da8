import { eventually } from '../support/eventually';
import { runCommand } from './command';
import { PATIENCE_MS, type CrashWorld } from './world';

type Arrange = (world: CrashWorld, ids: readonly string[]) => Promise<unknown>;

/** Events that nobody has claimed yet become dead letters of all of their handlers, as delivery runs leave them. */
export async function deadOfHandlers({ db, outbox }: CrashWorld, ids: readonly string[]): Promise<void> {
  const status = outbox.config().backend === 'db' ? 'dead_lettered' : 'done';
  await db.query(
    `WITH given_up AS (
       UPDATE :schema.event_queue
          SET status = $2, available_at = clock_timestamp(), failure_reason = 'it always failed',
              failed_at = CASE WHEN $2 = 'dead_lettered' THEN clock_timestamp() END,
              published_at = CASE WHEN $2 = 'done' THEN clock_timestamp() END
        WHERE event_id = ANY ($1::uuid[]) RETURNING *
     )
     INSERT INTO :schema.deliveries (event_id, handler, state, attempts, failed_at, failure_reason, source,
                                     event_type, aggregate_type, aggregate_id)
     SELECT event_id, handler, 'dead', 10, clock_timestamp(), 'it always failed', 'outbox', event_type, aggregate_type, aggregate_id
       FROM given_up, unnest(ARRAY['transactional', 'external']) AS handler
      WHERE event_type = 'ThingHappened' OR (event_type = 'InTransaction') = (handler = 'transactional')`,
    [ids, status],
  );
}

/** The same as dead letters of the relay. */
export async function deadOfRelay({ db }: CrashWorld, ids: readonly string[]): Promise<void> {
  await db.query(
    `UPDATE :schema.event_queue
        SET status = 'dead_lettered', available_at = clock_timestamp(), failed_at = clock_timestamp(), failure_reason = 'too large'
      WHERE event_id = ANY ($1::uuid[])`,
    [ids],
  );
}

export const reemitBySignal =
  (arrange: Arrange): Arrange =>
  async (world, ids) => {
    await arrange(world, ids);
    await world.outbox.relay().signal('reemit', { ids });
  };

export const reemitAll =
  (arrange: Arrange): Arrange =>
  async (world, ids) => {
    await arrange(world, ids);
    // Its count is as good as the last heartbeat of whoever was lost. What was revived is judged by its handlers.
    await world.outbox.relay().executeUpdate('reemitAll', { args: [{}] });
  };

/**
 * The command is killed; asked again it says of each event that it revives it, or that it is no dead letter any more.
 *
 * @param way through the relay, or without Temporal through the database
 */
export const reemitByCommand =
  (arrange: Arrange, of: 'ids' | 'all', way: 'relay' | 'database'): Arrange =>
  async (world, ids) => {
    await arrange(world, ids);
    const settings = way === 'database' ? { TEMPORAL_ADDRESS: '127.0.0.1:1' } : {};
    const order = ['reemit', '--json', ...(of === 'all' ? ['--all'] : ids)];
    const first = await runCommand(world, order, settings);
    if (first.code !== null) throw new Error(`the command was not killed, and said: ${first.output}`);
    const again = await eventually(
      async () => {
        const ended = await runCommand(world, order, settings);
        return ended.output.includes('"revived"') ? ended : undefined;
      },
      PATIENCE_MS,
      'a second try',
    );
    if (of === 'ids') for (const id of ids) expect(again.output).toContain(id);
  };
