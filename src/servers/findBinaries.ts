import { fetchTool } from './fetchTool';
import { findOnPath } from './onPath';
import { findPostgres } from './postgresBinaries';
import { silent, type Log } from './server';
import { ServerError } from './serverError';
import { natsServer, temporalCli } from './tools';

/** 2.12 brought the atomic batches that the relay publishes with. */
export async function findNats(log: Log): Promise<string> {
  const found = await findOnPath('nats-server', ({ major, minor }) => major > 2 || (major === 2 && minor >= 12));
  return found?.file ?? fetchTool(natsServer, log);
}

export async function findTemporal(log: Log): Promise<string> {
  const found = await findOnPath('temporal', ({ major }) => major >= 1);
  return found?.file ?? fetchTool(temporalCli, log);
}

/** Makes sure that all three binaries are on this machine, without starting anything. */
export async function fetchServers(log: Log = silent): Promise<void> {
  const outcomes = await Promise.allSettled([findPostgres(), findNats(log), findTemporal(log)]);
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
  if (reasons.length > 0) throw ServerError.combining(reasons);
}
