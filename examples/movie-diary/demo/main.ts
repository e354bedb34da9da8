import { resolve } from 'node:path';
import { Pool } from 'pg';
import { portsFromEnvironment, ServerError, startServers, type Servers } from 'temporal-outbox/servers';
import { whatHappened, whatNext, whatRuns } from './guide';
import { Instance, secondDatabase } from './instance';
import { runJob, type Running } from './job';
import { keepSize } from './kept';
import { startMetadataProvider, type MetadataProviderServer } from './metadataProvider';
import { HELP, readOptions, type Options } from './options';
import { agrees } from './reconcile/compare';
import { reconcileAll } from './reconcile/reconcileAll';
import { tableOf } from './report';
import { requireFree } from './requireFree';
import { unlessEnded } from './unlessEnded';

/** With --exit nobody is there to end a pause, or to mend what else is in the way. */
const PATIENCE_MS = 120_000;
/** A handle that a library left open must not keep a finished run alive. */
const LINGER_MS = 3_000;
const NOT_EXACT = `Not everything agrees: see the rows above. What was changed by hand in an earlier run is no part of the plan, and
unexpected: --fresh starts over.`;
const PARENT_CHECK_MS = 500;
const HANGUPS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Servers, two instances, the diary, the comparison; then up until Ctrl-C. What was started is stopped on every way out. */
async function main(options: Options): Promise<number> {
  const stop = new AbortController();
  const instances: Instance[] = [];
  for (const name of HANGUPS) {
    process.on(name, () => {
      if (stop.signal.aborted) for (const instance of instances) instance.kill();
      else console.log(`\nStopping ...`);
      stop.abort();
    });
  }
  // npm hands SIGTERM to its shell only, which dies and tells nobody.
  const parent = process.ppid;
  const watch = setInterval(() => process.ppid !== parent && stop.abort(), PARENT_CHECK_MS);
  watch.unref();
  const directory = resolve(options.directory);
  await requireFree({
    DIARY_PORT: options.ports.first,
    DIARY_SECOND_PORT: options.ports.second,
    DIARY_METADATA_PORT: options.ports.metadata,
  });
  keepSize(directory, options.films, options.fresh);
  const servers = await startServers({
    directory,
    fresh: options.fresh,
    ports: portsFromEnvironment(),
    given: {
      databaseUrl: process.env.DATABASE_URL,
      natsUrl: process.env.NATS_URL,
      temporalAddress: process.env.TEMPORAL_ADDRESS,
    },
    log: (line) => console.log(line),
  });
  let metadata: MetadataProviderServer | undefined;
  try {
    stop.signal.throwIfAborted();
    metadata = await startMetadataProvider({ port: options.ports.metadata });
    const urls = { first: servers.postgres.url, second: await secondDatabase(servers.postgres.url) };
    for (const name of ['first', 'second'] as const)
      instances.push(
        new Instance({
          name,
          databaseUrl: urls[name],
          outboxSchema: name === 'first' ? 'public' : 'second',
          port: options.ports[name],
          metadataUrl: metadata.url,
          directory,
          env: {
            ...process.env,
            NATS_URL: servers.nats.url,
            TEMPORAL_ADDRESS: servers.temporal.url,
            // Two streams, so that each instance sees its own events.
            ...(name === 'second' && { OUTBOX_STREAM: 'SECOND', OUTBOX_SUBJECT_PREFIX: 'second' }),
          },
        }),
      );
    return await present(options, servers, instances, metadata, stop.signal);
  } catch (error) {
    if (stop.signal.aborted) return options.exit ? 130 : 0;
    throw error;
  } finally {
    await Promise.all(instances.map((instance) => instance.stop()));
    await metadata?.close();
    await servers.stop();
  }
}

async function present(
  options: Options,
  servers: Servers,
  instances: readonly Instance[],
  metadata: MetadataProviderServer,
  signal: AbortSignal,
): Promise<number> {
  const [one, two] = instances as [Instance, Instance];
  const { uiUrl } = servers.temporal;
  await unlessEnded(instances, Promise.all(instances.map((instance) => instance.start())), signal);
  console.log(whatRuns(options, { first: one, second: two }, metadata.url, uiUrl));
  const running = instances.map(open) as [Running, Running];
  try {
    const tell = (hint: string) => console.log(hint);
    const patience = { signal, tell, ms: options.exit ? PATIENCE_MS : Infinity };
    const done = await unlessEnded(instances, runJob(...running, options, patience), signal);
    const comparisons = await reconcileAll(...running, done.plan);
    console.log(whatHappened(done, metadata.calls));
    console.log(tableOf(comparisons));
    const exact = comparisons.every(agrees);
    console.log(exact ? 'Everything agrees exactly.' : NOT_EXACT);
    if (options.exit) return exact ? 0 : 1;
    console.log(whatNext(servers, options.backend, one, await anExample(running[0].pool)));
    await unlessEnded(instances, new Promise<never>(() => undefined), signal);
    return 0;
  } finally {
    await Promise.all(running.map(({ pool }) => pool.end()));
  }
}

function open(instance: Instance): Running {
  const pool = new Pool({ connectionString: instance.options.databaseUrl, max: 2 });
  pool.on('error', () => undefined);
  return { instance, pool };
}

/** A film that is there, and the event that began it. */
async function anExample(pool: Pool): Promise<{ eventId: string; title: string }> {
  const { rows } = await pool.query<{ eventId: string; title: string }>(
    `SELECT q.event_id::text AS "eventId", f.title
       FROM event_queue q JOIN films f ON f.id::text = q.aggregate_id
      WHERE q.event_type = 'MovieDiscovered' ORDER BY q.id LIMIT 1`,
  );
  return rows[0] ?? { eventId: '<event id>', title: '<title>' };
}

async function run(): Promise<void> {
  // A terminal that was closed takes no more lines, which must not keep us from stopping what we started.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const options = readOptions(process.argv.slice(2), process.env);
    if (!options) console.log(HELP);
    else process.exitCode = await main(options);
  } catch (error) {
    const { message, code } = error as Error & { code?: unknown };
    console.error(error instanceof ServerError ? message : `npm start failed: ${message}`);
    process.exitCode = String(code).startsWith('ERR_PARSE_ARGS') ? 2 : 1;
  }
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

void run();
