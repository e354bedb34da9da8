import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { deliveryRows } from '../support/handled';
import { atRest } from './outcome';
import { CrashWorld, PATIENCE_MS } from './world';

const ATTEMPTS = 3;

it.concurrent.each([
  ['external', 'db'],
  ['external', 'nats'],
  ['transactional', 'db'],
  ['transactional', 'nats'],
])(
  'a handler (%s, backend %s) that kills its process dies out after its attempts, while others are handled (C04)',
  (handler, backend) =>
    CrashWorld.during({ EVENT_BUS_BACKEND: backend, EVENT_QUEUE_MAX_ATTEMPTS: `${ATTEMPTS}` }, async (world) => {
      const type = handler === 'external' ? 'Outside' : 'InTransaction';
      const healthy = (life: number) => events(3, (n) => ({ type, aggregateId: `${life} ${n}` }));
      const payload = { abort: 'middle', ms: 600 };
      const [poison = ''] = await enqueue(world.db, [event({ type, aggregateId: 'poison', payload })]);
      const others: string[] = [];
      for (let life = 1; life <= ATTEMPTS; life++) {
        const worker = await world.worker({}, false);
        await eventually(() => world.entries(poison).length === life, PATIENCE_MS, `entry ${life}`);
        others.push(...(await enqueue(world.db, healthy(life))));
        await worker.exited;
        expect(worker.child.signalCode).toBe('SIGABRT');
        await age(world);
      }
      await world.worker();
      others.push(...(await enqueue(world.db, healthy(ATTEMPTS + 1))));
      const rows = () => deliveryRows(world.db);
      await eventually(async () => (await rows()).some(({ state }) => state === 'dead'), PATIENCE_MS, 'a dead letter');
      await atRest(world, others);

      expect(await rows()).toMatchObject([{ event_id: poison, handler, state: 'dead', attempts: ATTEMPTS }]);
      expect((await rows())[0]?.failure_reason).toContain('the worker was lost');
      expect(world.entries(poison).map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      const run = world.outbox.client.workflow.getHandle(deliveryWorkflowId(world.db.schema, poison));
      await eventually(async () => (await run.describe()).status.name === 'FAILED', PATIENCE_MS);
      expect((await world.effects()).has(poison)).toBe(false);
      const settled = backend === 'db' ? { done: others.length, dead_lettered: 1 } : { done: others.length + 1 };
      expect(await world.outbox.rowsByStatus()).toEqual(settled);
    }),
  600_000,
);

/** As if the leases of the lost worker had run out. */
async function age({ db }: CrashWorld): Promise<void> {
  await db.query(`UPDATE :schema.processed_events SET lease_until = clock_timestamp() WHERE status = 'in_progress'`);
  await db.query(
    `UPDATE :schema.event_queue SET claimed_at = claimed_at - interval '601 seconds' WHERE status = 'processing'`,
  );
}
