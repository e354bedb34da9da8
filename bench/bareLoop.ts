/*
 * A relay without Temporal, as one would write it by hand: claim, publish, wait for every acknowledgement, mark, next.
 * A process of its own; BENCH_PUBLISH says whether it publishes each event by itself (`plain`) or with our function (`same`).
 * Says `ready`, and drains the outbox once for every message that it is sent.
 */
import { jetstream } from '@nats-io/jetstream';
import pino from 'pino';
import { connect } from 'nats';
import { loadConfig } from '../src/config';
import type { ClaimedEvent } from '../src/event';
import { openDatabase } from '../src/postgres/database';
import { builtBroker, builtClaim, builtFence, builtHeaders, builtSettle, builtSubject } from './build';

type Publish = (events: readonly ClaimedEvent[]) => Promise<void>;

const config = loadConfig();
const db = openDatabase({ url: config.databaseUrl, schema: config.schema, poolSize: config.poolSize });
const { claimDue } = builtClaim();
const { markDone } = builtSettle();
const { bumpFence } = builtFence();

async function main(): Promise<void> {
  const publish = process.env.BENCH_PUBLISH === 'same' ? await publishAsTheWorker() : await publishEach();
  process.on('message', () => {
    drain(publish).then(
      (events) => process.send?.({ events }),
      (error: Error) => process.send?.({ error: error.message }),
    );
  });
  // The bench is gone, however it ended.
  process.on('disconnect', () => process.exit());
  await db.query('SELECT 1');
  process.send?.('ready');
}

async function drain(publish: Publish): Promise<number> {
  const limits = { rows: config.relay.batchSize, bytes: config.relay.batchBytes };
  const token = await bumpFence(db);
  let drained = 0;
  for (;;) {
    const { events } = await claimDue(db, token, limits);
    if (events.length === 0) return drained;
    await publish(events);
    drained += await markDone(db, token, []);
  }
}

async function publishEach(): Promise<Publish> {
  const { headersOf } = builtHeaders();
  const { subjectOf } = builtSubject();
  const { url, publishTimeoutMs: timeout, subjectPrefix } = config.nats;
  const js = jetstream(await connect({ servers: url }), { timeout });
  return async (events) => {
    await Promise.all(
      events.map((event) =>
        js.publish(subjectOf(subjectPrefix, event) ?? '', event.payload, { headers: headersOf(event), timeout }),
      ),
    );
  };
}

async function publishAsTheWorker(): Promise<Publish> {
  const broker = await builtBroker().openBroker(config, pino({ level: 'silent' }));
  return async (events) => {
    let failed: string | undefined;
    await broker.publish(events, (_event, outcome) => {
      if (outcome.kind !== 'published') failed ??= outcome.kind === 'handed over' ? outcome.kind : outcome.reason;
    });
    if (failed !== undefined) throw new Error(failed);
  };
}

main().catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});
