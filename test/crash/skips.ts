import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { eventually } from '../support/eventually';
import { runCommand } from './command';
import { deadOfHandlers } from './deadLetters';
import { PATIENCE_MS, type CrashWorld, type Fault } from './world';

const REASON = 'the address was deleted';

interface Handling {
  readonly eventId: string;
  readonly handler: string;
}

async function handlings({ db }: CrashWorld, ids: readonly string[], state: 'waiting' | 'dead'): Promise<Handling[]> {
  const { rows } = await db.query<Handling>(
    `SELECT event_id::text AS "eventId", handler FROM :schema.deliveries WHERE event_id = ANY ($1::uuid[]) AND state = $2`,
    [ids, state],
  );
  return rows;
}

/** By a signal to each run, as from the Temporal UI; of events with one handler each. */
export async function skipBySignal(world: CrashWorld, ids: readonly string[]): Promise<void> {
  const { client } = world.outbox;
  const all = async () => {
    const found = await handlings(world, ids, 'waiting');
    return found.length === ids.length ? found : undefined;
  };
  for (const { eventId, handler } of await eventually(all, PATIENCE_MS, 'a delivery of each event')) {
    const run = client.workflow.getHandle(deliveryWorkflowId(world.db.schema, eventId));
    const signal = async () => {
      await run.signal('skip', { handler, reason: REASON });
      return true;
    };
    await eventually(signal, PATIENCE_MS, 'a run that can be told');
  }
}

/** Dead letters of handlers: the first command is killed; asked again it skips, or says that it has been done. */
export async function skipByCommand(world: CrashWorld, ids: readonly string[], side: Fault['when']): Promise<void> {
  await deadOfHandlers(world, ids);
  const dead = await handlings(world, ids, 'dead');
  expect(dead.length).toBeGreaterThan(ids.length);
  for (const [index, { eventId, handler }] of dead.entries()) {
    const order = ['skip', eventId, '--handler', handler, '--reason', REASON, '--json'];
    if (index === 0) {
      const { code, output } = await runCommand(world, order);
      if (code !== null) throw new Error(`the command was not killed, and said: ${output}`);
    }
    const { stdout } = await runCommand(world, order);
    const result = index === 0 && side === 'after' ? 'already handled' : 'skipped';
    expect(JSON.parse(stdout)).toEqual({ eventId, handler, result });
  }
}
