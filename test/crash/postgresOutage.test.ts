import { headers } from 'nats';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstream } from '@nats-io/jetstream';
import { eventually } from '../support/eventually';
import { deliveryRows } from '../support/handled';
import { Proxy } from '../support/proxy';
import { CrashWorld, PATIENCE_MS } from './world';

const OUTAGE_MS = 10_000;
/** What two workers may hold: four times their concurrency each, and as much that was under way. */
const IN_HAND = 2 * 2 * 4 * 8;
const MESSAGES = 400;

it(
  'backend nats: while PostgreSQL is away for 10 s nothing is pulled and no delivery is burnt, and then everything is handled',
  () =>
    CrashWorld.during({ EVENT_BUS_BACKEND: 'nats', EVENT_QUEUE_MAX_ATTEMPTS: '3' }, async (world) => {
      const direct = world.outbox.config().databaseUrl;
      const proxy = await Proxy.to(direct);
      world.outbox.onClose(() => proxy.close());
      const through = { DATABASE_URL: proxy.url(direct) };
      await Promise.all([world.worker(through), world.worker(through)]);
      await publish(world, 50);
      await eventually(async () => (await world.effects()).size === 50, PATIENCE_MS);

      proxy.takeAway();
      await publish(world, MESSAGES);
      // What was pulled before the first refusal is in hand by now.
      const settled = await eventually(async () => {
        const before = await consumer(world);
        await sleep(1_000);
        const after = await consumer(world);
        return after.delivered === before.delivered ? after : undefined;
      });
      expect(settled.delivered - 50).toBeLessThanOrEqual(IN_HAND);
      const until = performance.now() + OUTAGE_MS;
      while (performance.now() < until) {
        const { delivered, redelivered } = await consumer(world);
        expect(delivered - settled.delivered).toBeLessThanOrEqual(IN_HAND / 4);
        expect(redelivered).toBeLessThanOrEqual(IN_HAND / 4);
        await sleep(500);
      }

      proxy.giveBack();
      await eventually(async () => (await world.effects()).size === 50 + MESSAGES, PATIENCE_MS, 'all effects');
      await eventually(async () => (await world.unacknowledged()) === 0, PATIENCE_MS, 'all acknowledged');
      expect([...(await world.effects()).values()].every((count) => count === 1)).toBe(true);
      // A claim that ran out meanwhile may be waited for; a dead letter would stay.
      await eventually(async () => (await deliveryRows(world.db)).length === 0, PATIENCE_MS, 'no delivery');
      const { delivered, redelivered } = await consumer(world);
      console.info(`${delivered} deliveries of ${50 + MESSAGES} messages, ${redelivered} redelivered at the end`);
      expect(delivered - 50 - MESSAGES).toBeLessThanOrEqual(IN_HAND);
    }),
  300_000,
);

/** By hand, since the outbox is away with PostgreSQL. */
async function publish(world: CrashWorld, count: number): Promise<void> {
  const { nats } = world.outbox.config();
  const client = jetstream(world.outbox.nats);
  for (let n = 0; n < count; n++) {
    const header = headers();
    header.set('Nats-Msg-Id', randomUUID());
    await client.publish(`${nats.subjectPrefix}.thing.InTransaction`, JSON.stringify({ n }), { headers: header });
  }
}

async function consumer(world: CrashWorld): Promise<{ delivered: number; redelivered: number }> {
  const { nats } = world.outbox.config();
  const { delivered, num_redelivered } = await world.outbox.manager.consumers.info(nats.stream, nats.durable);
  return { delivered: delivered.consumer_seq, redelivered: num_redelivered };
}
