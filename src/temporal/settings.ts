import type { ConnectionOptions } from '@temporalio/client';
import { loadClientConfigProfile, toClientOptions, type ClientConfigProfile } from '@temporalio/envconfig';
import { readFileSync } from 'node:fs';
import { unusableSetting } from './unusableSetting';

export interface TemporalSettings {
  readonly address: string;
  readonly namespace: string;
  readonly connectionOptions: Pick<ConnectionOptions, 'metadata' | 'tls'> & { apiKey?: string };
  /** As the variables and the file say it, without what is the default. */
  readonly given: ClientConfigProfile;
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Where Temporal is and who connects, as its standard variables and configuration file say: TEMPORAL_ADDRESS,
 * TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_…, TEMPORAL_PROFILE. Default: 127.0.0.1:7233, namespace `default`.
 *
 * @param env variables to read instead of the process's own
 * @throws Error with one clear sentence when they, or a file that they name, cannot be read, or are such as no client
 *   could use: a worker would try those for ever
 */
export function readTemporalSettings(env: Variables = process.env): TemporalSettings {
  // An empty one is a template's that nobody filled in: not given, as everywhere.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const profile = reading(given.TEMPORAL_CONFIG_FILE ?? 'temporal.toml', undefined, () =>
    loadClientConfigProfile({ overrideEnvVars: given as Record<string, string> }),
  );
  const unusable = unusableSetting(profile, given);
  if (unusable) throw unreadable(unusable.why, unusable.variable);
  const { connectionOptions } = toClientOptions(profile.tls ? { ...profile, tls: withFiles(profile.tls) } : profile);
  // Not `localhost`: where that is an IPv6 address first, the dev server does not listen on it.
  const { address = '127.0.0.1:7233', apiKey, tls, metadata } = connectionOptions;
  return {
    address,
    namespace: profile.namespace ?? 'default',
    connectionOptions: {
      ...(apiKey !== undefined && { apiKey }),
      ...(tls !== undefined && { tls: tls ?? false }),
      ...(metadata !== undefined && { metadata }),
    },
    given: profile,
  };
}

type Tls = NonNullable<ClientConfigProfile['tls']>;
const FILES = { clientCert: 'CLIENT_CERT', clientKey: 'CLIENT_KEY', serverCACert: 'SERVER_CA_CERT' } as const;

/** Read here and not by the library, whose error says nothing of what the file was for, nor where it was, of a directory. */
function withFiles(tls: Tls): Tls {
  const read: Tls = { ...tls };
  for (const name of tls.disabled ? [] : (Object.keys(FILES) as (keyof typeof FILES)[])) {
    const source = tls[name];
    if (!source || !('path' in source)) continue;
    // A number in the configuration file would be a file descriptor.
    const path = String(source.path);
    read[name] = { data: reading(path, `TEMPORAL_TLS_${FILES[name]}_PATH`, () => readFileSync(path)) };
  }
  return read;
}

const escaped = (character: string) => `\\u{${character.codePointAt(0)?.toString(16)}}`;

function reading<T>(file: string, variable: string | undefined, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { code, path = file, message } = error as NodeJS.ErrnoException;
    // A parser's message quotes the line that it could not read, and that line may hold a key. For the same reason the
    // parser's error is no cause, whose text a stack would show.
    throw unreadable(code === undefined ? (message.split('\n')[0] ?? '') : `${code}: ${path}`, variable);
  }
}

function unreadable(why: string, variable = 'the TEMPORAL_… variables'): Error {
  const sentence = `Temporal's settings cannot be read (${why}): check ${variable}, and the file that TEMPORAL_CONFIG_FILE names.`;
  // A terminal would obey control characters.
  return new Error(sentence.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped));
}
