import { Client, Connection, isGrpcServiceError, ServiceError } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';

/** gRPC's UNAUTHENTICATED and PERMISSION_DENIED: the server is there, and waiting will not help. */
const REFUSED_CODES: readonly number[] = [16, 7];

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
  const { connectionOptions, namespace = 'default' } = readSettings(options.env);
  // Not `localhost`: where that is an IPv6 address first, the dev server does not listen on it.
  const { address = '127.0.0.1:7233', apiKey, tls, metadata } = connectionOptions;
  try {
    const connection = await Connection.connect({
      address,
      connectTimeout: options.connectTimeoutMs ?? 10_000,
      ...(apiKey !== undefined && { apiKey }),
      ...(tls !== undefined && { tls: tls ?? false }),
      ...(metadata !== undefined && { metadata: metadata }),
    });
    // A relay that was terminated would still answer queries, from its history, and pass for one that runs.
    const workflow = { queryRejectCondition: 'NOT_OPEN' as const };
    const client = new Client({ connection, namespace, workflow });
    return { client, namespace, address, close: () => connection.close() };
  } catch (error) {
    throw awayError(address, error);
  }
}

function readSettings(env: ConnectOptions['env']): ReturnType<typeof loadClientConnectConfig> {
  const given = env && Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  try {
    return loadClientConnectConfig(given ? { overrideEnvVars: given as Record<string, string> } : {});
  } catch (error) {
    throw new Error(
      `Temporal's settings cannot be read: ${(error as Error).message}. Check the TEMPORAL_… variables, and the file that TEMPORAL_CONFIG_FILE names.`,
      { cause: error },
    );
  }
}

function awayError(address: string, error: unknown): TemporalAwayError {
  const cause = error instanceof ServiceError && error.cause ? error.cause : error;
  if (isGrpcServiceError(cause) && REFUSED_CODES.includes(cause.code)) {
    return new TemporalAwayError(
      address,
      `Temporal at ${address} refused the credentials: check TEMPORAL_API_KEY or the TEMPORAL_TLS_… variables.`,
      { cause: error },
    );
  }
  return new TemporalAwayError(
    address,
    `Temporal cannot be reached at ${address}: start it (\`outbox dev\` runs one), or set TEMPORAL_ADDRESS to where it runs.`,
    { cause: error },
  );
}
