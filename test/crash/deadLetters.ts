import { eventually } from '../support/eventually';
import { runCommand } from './command';
import { PATIENCE_MS, type CrashWorld, type Fault } from './world';

type Arrange = (world: CrashWorld, ids: readonly string[]) => Promise<unknown>;
type Act = (world: CrashWorld, ids: readonly string[], side: Fault['when']) => Promise<unknown>;

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

interface Answer {
  readonly revived: string[] | number;
  readonly refused?: readonly { readonly id: string; readonly reason: string }[];
}

/** All ways to say that there is nothing to revive, and no other refusal. */
const NO_DEAD_LETTER = /^\w+: (it is not a dead letter|.*there is nothing to revive$|somebody else revived it)/;

/**
 * The command is killed; asked again it revives each event, or says that it is no dead letter any more. A command that died
 * before it asked has revived none; one that died behind the statement that it sent itself has revived all.
 *
 * @param way through the relay, or without Temporal through the database
 */
export const reemitByCommand =
  (arrange: Arrange, of: 'ids' | 'all', way: 'relay' | 'database'): Act =>
  async (world, ids, side) => {
    await arrange(world, ids);
    const settings = way === 'database' ? { TEMPORAL_ADDRESS: '127.0.0.1:1' } : {};
    const order = ['reemit', '--json', ...(of === 'all' ? ['--all'] : ids)];
    const first = await runCommand(world, order, settings);
    if (first.code !== null) throw new Error(`the command was not killed, and said: ${first.output}`);
    const ask = () =>
      eventually(
        async () => {
          const { stdout } = await runCommand(world, order, settings);
          return JSON.parse(stdout) as Answer;
        },
        PATIENCE_MS,
        'an answer to the second try',
      );
    const { revived, refused = [] } = await ask();
    const left = side === 'before' ? ids.length : way === 'database' ? 0 : undefined;
    if (of === 'all') {
      expect(revived).toBe(left ?? revived);
      expect(revived).toBeLessThanOrEqual(ids.length);
      expect(await ask()).toMatchObject({ revived: 0 });
      return;
    }
    const again = revived as string[];
    expect(again).toHaveLength(left ?? again.length);
    expect([...again, ...refused.map(({ id }) => id)].sort()).toEqual([...ids].sort());
    expect(refused.filter(({ reason }) => !NO_DEAD_LETTER.test(reason))).toEqual([]);
  };
