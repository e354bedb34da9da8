import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection } from '@temporalio/worker';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../logger';

export interface TemporalConnection {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly address: string;
}

const WAITS_MS = [500, 1_000, 2_000];

/**
 * Connects a worker to Temporal, for as long as it takes: a server that is late is the normal case at boot.
 *
 * @throws Error with one clear sentence when the server refuses the credentials or does not know the namespace
 */
export async function connectTemporal(logger: Logger, signal: AbortSignal): Promise<TemporalConnection> {
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const address = connectionOptions.address ?? '127.0.0.1:7233';
  for (let tried = 0; ; tried++) {
    let connection: NativeConnection | undefined;
    try {
      connection = await NativeConnection.connect({ ...connectionOptions, address });
      await connection.workflowService.describeNamespace({ namespace });
      return { connection, namespace: namespace, address };
    } catch (error) {
      await connection?.close().catch(() => undefined);
      const hopeless = whyHopeless(error, address, namespace);
      if (hopeless) throw new Error(hopeless, { cause: error });
      if (tried === 0)
        logger.warn(
          `Temporal at ${address} does not answer yet (${(error as Error).message}); trying again until it does`,
        );
      await sleep(WAITS_MS[Math.min(tried, WAITS_MS.length - 1)], undefined, { signal });
    }
  }
}

/** gRPC status codes that no waiting mends. */
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

function whyHopeless(error: unknown, address: string, namespace: string): string | undefined {
  const code = (error as { code?: unknown }).code;
  if (code === NOT_FOUND)
    return `Temporal at ${address} has no namespace ${namespace}: create it, or set TEMPORAL_NAMESPACE`;
  if (code === PERMISSION_DENIED || code === UNAUTHENTICATED) {
    return `Temporal at ${address} refused the credentials: check TEMPORAL_API_KEY and the TEMPORAL_TLS variables`;
  }
  return undefined;
}
