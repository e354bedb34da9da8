/*
 * A relay without Temporal, as one would write it by hand: claim, publish, wait for every acknowledgement, mark, next.
 * A process of its own; BENCH_PUBLISH says whether it publishes each event by itself (`plain`) or with our function (`same`).
 */
import { jetstream } from '@nats-io/jetstream';
import pino from 'pino';
import { connect } from 'nats';
import { loadConfig } from '../src/config';
import { openDatabase } from '../src/postgres/database';
import { builtBroker, builtHeaders, builtSubject } from './build';
import { serveDrains, type Work } from './serveDrains';

const config = loadConfig();
const db = openDatabase({ url: config.databaseUrl, schema: config.schema, poolSize: config.poolSize });

async function main(): Promise<void> {
  await serveDrains(
    db,
    config,
    process.env.BENCH_PUBLISH === 'same' ? await publishAsTheWorker() : await publishEach(),
  );
}

async function publishEach(): Promise<Work> {
  const { headersOf } = builtHeaders();
  const { subjectOf } = builtSubject();
  const { url, publishTimeoutMs: timeout, subjectPrefix, cloudEventsSource } = config.nats;
  const js = jetstream(await connect({ servers: url }), { timeout });
  return async (events) => {
    await Promise.all(
      events.map((event) =>
        js.publish(subjectOf(subjectPrefix, event) ?? '', event.payload, {
          headers: headersOf(event, cloudEventsSource),
          timeout,
        }),
      ),
    );
  };
}

async function publishAsTheWorker(): Promise<Work> {
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
