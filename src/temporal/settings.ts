import type { ConnectionOptions } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';

export interface TemporalSettings {
  readonly address: string;
  readonly namespace: string;
  readonly connectionOptions: Pick<ConnectionOptions, 'metadata' | 'tls'> & { apiKey?: string };
}

/**
 * Where Temporal is and who connects, as its standard variables and configuration file say: TEMPORAL_ADDRESS,
 * TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_…, TEMPORAL_PROFILE. Default: 127.0.0.1:7233, namespace `default`.
 *
 * @param env variables to read instead of the process's own
 * @throws Error with one clear sentence when they, or a file that they name, cannot be read
 */
export function readTemporalSettings(env?: Readonly<Record<string, string | undefined>>): TemporalSettings {
  const given = env && Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  try {
    const { connectionOptions, namespace = 'default' } = loadClientConnectConfig(
      given ? { overrideEnvVars: given as Record<string, string> } : {},
    );
    // Not `localhost`: where that is an IPv6 address first, the dev server does not listen on it.
    const { address = '127.0.0.1:7233', apiKey, tls, metadata } = connectionOptions;
    return {
      address,
      namespace,
      connectionOptions: {
        ...(apiKey !== undefined && { apiKey }),
        ...(tls !== undefined && { tls: tls ?? false }),
        ...(metadata !== undefined && { metadata }),
      },
    };
  } catch (error) {
    const { code, path, message } = error as NodeJS.ErrnoException;
    // A parser's message quotes the line that it could not read, and that line may hold a key.
    const why = code === undefined ? (message.split('\n')[0] ?? '') : `${code}: ${path ?? ''}`;
    // eslint-disable-next-line preserve-caught-error -- for the same reason the parser's error is no cause, whose text a stack would show
    throw new Error(
      `Temporal's settings cannot be read (${why}): check the TEMPORAL_… variables, and the file that TEMPORAL_CONFIG_FILE names.`,
    );
  }
}
