import { join, resolve } from 'node:path';
import { portsFromEnvironment, ServerError, startServers, type Servers } from 'temporal-outbox/servers';
import { prepare, runJob, type Addresses } from './job';
import { HELP, readOptions, type Options } from './options';
import { isExact, tableOf } from './report';
import { relayPage } from './temporal';
import { startWorker, type WorkerProcess } from './workerProcess';

/** With --exit nobody is there to end a pause, or to mend what else is in the way. */
const PATIENCE_MS = 60_000;
/** A handle that a library left open must not keep a finished run alive. */
const LINGER_MS = 3_000;
const PARENT_CHECK_MS = 500;
const HANGUPS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Servers, worker, job, count; then up until Ctrl-C. What was started is stopped on every way out. */
async function main(options: Options): Promise<number> {
  const stop = new AbortController();
  let worker: WorkerProcess | undefined;
  for (const name of HANGUPS) {
    process.on(name, () => {
      if (stop.signal.aborted) worker?.kill();
      else console.log(`\nStopping ...`);
      stop.abort();
    });
  }
  // npm hands SIGTERM to its shell only, which dies and tells nobody.
  const parent = process.ppid;
  const watch = setInterval(() => process.ppid !== parent && stop.abort(), PARENT_CHECK_MS);
  watch.unref();
  const directory = resolve(options.directory);
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
  try {
    stop.signal.throwIfAborted();
    const addresses = {
      databaseUrl: servers.postgres.url,
      natsUrl: servers.nats.url,
      temporalAddress: servers.temporal.url,
    };
    await prepare(addresses);
    worker = startWorker(join(directory, 'logs', 'worker.log'), { ...process.env, ...environment(addresses) });
    await unlessEnded(worker, worker.ready, stop.signal);
    console.log(`The worker is ready; its log is ${join(options.directory, 'logs', 'worker.log')}`);

    const report = await unlessEnded(
      worker,
      runJob(addresses, stop.signal, options.exit ? PATIENCE_MS : Infinity),
      stop.signal,
    );
    console.log(tableOf(report));
    const exact = isExact(report);
    console.log(exact ? 'Every event is in the stream exactly once.' : 'The count is not exact: see the rows above.');
    if (options.exit) return exact ? 0 : 1;
    console.log(whatNext(servers, addresses));
    await unlessEnded(worker, new Promise<never>(() => undefined), stop.signal);
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return options.exit ? 130 : 0;
    throw error;
  } finally {
    await worker?.stop();
    await servers.stop();
  }
}

/** The result of `work`; rejects when the worker ends or the user stops it first. */
function unlessEnded<T>(worker: WorkerProcess, work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    // Nothing else may keep the process alive while it only stays up.
    const alive = setInterval(() => undefined, 60_000);
    const done = () => clearInterval(alive);
    work.then(resolve, reject).finally(done);
    void worker.ended.then((how) => reject(new Error(`The worker has ended: ${how}`))).finally(done);
    const aborted = () => {
      done();
      reject(new Error('stopped'));
    };
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true });
  });
}

function environment(addresses: Addresses): NodeJS.ProcessEnv {
  return {
    DATABASE_URL: addresses.databaseUrl,
    NATS_URL: addresses.natsUrl,
    TEMPORAL_ADDRESS: addresses.temporalAddress,
  };
}

function whatNext(servers: Servers, addresses: Addresses): string {
  const lines = ['', 'Up until Ctrl-C. Meanwhile, in another terminal:'];
  // Those that were given are known, and may hold a password.
  const started = [
    servers.postgres.started && `DATABASE_URL=${addresses.databaseUrl}`,
    servers.nats.started && `NATS_URL=${addresses.natsUrl}`,
    servers.temporal.started && `TEMPORAL_ADDRESS=${addresses.temporalAddress}`,
  ].filter((each) => each !== false);
  if (started.length > 0) lines.push(`  export ${started.join(' ')}`);
  lines.push('  npx outbox status --watch', '  npx outbox pause', '  npx outbox --help');
  if (servers.temporal.uiUrl)
    lines.push('', `Temporal UI: ${servers.temporal.uiUrl}`, `The relay:   ${relayPage(servers.temporal.uiUrl)}`);
  return lines.join('\n');
}

async function run(): Promise<void> {
  // A terminal that was closed takes no more lines, which must not keep us from stopping what we started.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const options = readOptions(process.argv.slice(2));
    if (!options) console.log(HELP);
    else process.exitCode = await main(options);
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    console.error(error instanceof ServerError ? message : `npm start failed: ${message}`);
    process.exitCode = code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1;
  }
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

void run();
