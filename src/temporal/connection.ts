import { NativeConnection } from '@temporalio/worker';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../logger';
import { whyRefused } from './refusal';
import { readTemporalSettings } from './settings';

export interface TemporalConnection {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly address: string;
}

const WAITS_MS = [500, 1_000, 2_000];

/**
 * Connects a worker to Temporal, for as long as it takes: a server that is late is the normal case at boot.
 *
 * @throws Error with one clear sentence when the settings are such as no server could answer to, or the server refuses
 *   credentials or certificates, or does not know the namespace
 */
export async function connectTemporal(logger: Logger, signal: AbortSignal): Promise<TemporalConnection> {
  const settings = readTemporalSettings();
  const { address, namespace, connectionOptions } = settings;
  for (let tried = 0; ; tried++) {
    let connection: NativeConnection | undefined;
    try {
      connection = await NativeConnection.connect({ ...connectionOptions, address });
      await connection.workflowService.describeNamespace({ namespace });
      return { connection, namespace, address };
    } catch (error) {
      await connection?.close().catch(() => undefined);
      const hopeless = await whyRefused(error, settings);
      if (hopeless) throw new Error(hopeless, { cause: error });
      if (tried === 0)
        logger.warn(
          `Temporal at ${address} does not answer yet (${(error as Error).message}); trying again until it does`,
        );
      await sleep(WAITS_MS[Math.min(tried, WAITS_MS.length - 1)], undefined, { signal });
    }
  }
}
