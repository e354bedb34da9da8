import { Client, Connection } from '@temporalio/client';
import { whyRefused } from './refusal';
import { readTemporalSettings, type TemporalSettings } from './settings';

export interface ConnectOptions {
  /** Variables to read instead of the process's own. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** How long an unreachable server is tried, in milliseconds. Default 10,000; commands take less. */
  readonly connectTimeoutMs?: number;
}

export interface TemporalClient {
  readonly client: Client;
  readonly namespace: string;
  readonly address: string;
  close(): Promise<void>;
}

/** Temporal cannot be used now. The message is one sentence that names the address and what to set. */
export class TemporalAwayError extends Error {
  readonly kind = 'temporal-away';
  constructor(
    readonly address: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'TemporalAwayError';
  }
}

/**
 * A client as Temporal's standard variables and configuration file describe it (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE,
 * TEMPORAL_API_KEY, TEMPORAL_TLS_…, TEMPORAL_PROFILE). Default: 127.0.0.1:7233, namespace `default`.
 *
 * @throws TemporalAwayError when it cannot be reached or refuses the credentials; Error when the configuration cannot
 *   be read
 */
export async function connectClient(options: ConnectOptions = {}): Promise<TemporalClient> {
  const settings = readTemporalSettings(options.env);
  const { address, namespace, connectionOptions } = settings;
  try {
    const connection = await Connection.connect({
      address,
      connectTimeout: options.connectTimeoutMs ?? 10_000,
      ...connectionOptions,
    });
    // A relay that was terminated would still answer queries, from its history, and pass for one that runs.
    const workflow = { queryRejectCondition: 'NOT_OPEN' as const };
    const client = new Client({ connection, namespace, workflow });
    return { client, namespace, address, close: () => connection.close() };
  } catch (error) {
    throw await awayError(settings, error);
  }
}

async function awayError(settings: TemporalSettings, error: unknown): Promise<TemporalAwayError> {
  const { address } = settings;
  const refused = await whyRefused(error, settings);
  const away = `Temporal cannot be reached at ${address}: start it (\`outbox dev\` runs one), or set TEMPORAL_ADDRESS to where it runs`;
  return new TemporalAwayError(address, `${refused ?? away}.`, { cause: error });
}
