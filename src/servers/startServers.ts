import { resolve } from 'node:path';
import { lockDirectory } from './directoryLock';
import { startNats } from './nats';
import type { Ports } from './ports';
import { startPostgres } from './postgres';
import { silent, type Log, type Server } from './server';
import { ServerError } from './serverError';
import { startTemporal, type TemporalServer } from './temporal';

export interface ServersOptions {
  /** Holds all data, logs and pid files; one run at a time may use it. */
  directory: string;
  /** Deletes all data first. */
  fresh?: boolean | undefined;
  /** See `startPostgres`. */
  durable?: boolean | undefined;
  /** Default for each: a free one. `portsFromEnvironment()` gives the fixed ones of `npm start`. */
  ports?: Ports | undefined;
  /** Running servers to use as they are. */
  given?: { databaseUrl?: string | undefined; natsUrl?: string | undefined; temporalAddress?: string | undefined };
  log?: Log | undefined;
}

export interface Servers {
  postgres: Server;
  nats: Server;
  temporal: TemporalServer;
  /** Stops all three and frees the directory. */
  stop(): Promise<void>;
}

/** Starts the three servers at once. When one fails, the others are stopped and the reasons are thrown together. */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const directory = resolve(options.directory);
  const { ports = {}, given = {}, fresh = false, log = silent } = options;
  const unlock = lockDirectory(directory);
  const common = { directory, fresh, log };
  const starting = [
    startPostgres({ ...common, port: ports.postgres, url: given.databaseUrl, durable: options.durable }),
    startNats({ ...common, port: ports.nats, url: given.natsUrl }),
    startTemporal({ ...common, port: ports.temporal, uiPort: ports.temporalUi, url: given.temporalAddress }),
  ] as const;
  const outcomes = await Promise.allSettled(starting);
  const stop = async () => {
    await Promise.all(outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.stop()] : [])));
    unlock();
  };
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
  if (reasons.length > 0) {
    await stop();
    throw ServerError.combining(reasons);
  }
  const [postgres, nats, temporal] = await Promise.all(starting);
  return { postgres, nats, temporal, stop };
}
