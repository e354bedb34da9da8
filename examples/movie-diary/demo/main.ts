import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { portsFromEnvironment, ServerError, startServers } from 'temporal-outbox/servers';
import { exactly, whatNext, whatRuns } from './guide';
import { prepare, runJob } from './job';
import { HELP, readOptions, type Options } from './options';
import { PosterLog } from './posterLog';
import { startPosterServer, type PosterServer } from './posterServer';
import { POSTER_SERVICE_URL } from './posterService';
import { isExact, tableOf } from './report';
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
  let posters: PosterServer | undefined;
  try {
    stop.signal.throwIfAborted();
    const posterFile = join(directory, 'posters.ndjson');
    if (options.fresh) rmSync(posterFile, { force: true });
    const posterLog = new PosterLog(posterFile);
    posters = await startPosterServer(posterLog);
    await prepare(servers.postgres.url);
    const logFile = join('logs', 'worker.log');
    worker = startWorker(join(directory, logFile), {
      ...process.env,
      DATABASE_URL: servers.postgres.url,
      NATS_URL: servers.nats.url,
      TEMPORAL_ADDRESS: servers.temporal.url,
      [POSTER_SERVICE_URL]: posters.url,
    });
    await unlessEnded(worker, worker.ready, stop.signal);
    console.log(whatRuns(options.backend, join(options.directory, logFile), posters.url, servers.temporal.uiUrl));

    const surroundings = {
      databaseUrl: servers.postgres.url,
      natsUrl: options.backend === 'nats' ? servers.nats.url : undefined,
      temporalAddress: servers.temporal.url,
      uiUrl: servers.temporal.uiUrl,
      ...{ posters, posterLog },
    };
    const patience = { signal: stop.signal, ms: options.exit ? PATIENCE_MS : Infinity };
    const report = await unlessEnded(worker, runJob(surroundings, patience), stop.signal);
    console.log(tableOf(report));
    const exact = isExact(report);
    console.log(exact ? exactly(options.backend) : 'The count is not exact: see the rows above.');
    if (options.exit) return exact ? 0 : 1;
    console.log(whatNext(servers, options.backend, report.reemitted));
    await unlessEnded(worker, new Promise<never>(() => undefined), stop.signal);
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return options.exit ? 130 : 0;
    throw error;
  } finally {
    await worker?.stop();
    await posters?.close();
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
