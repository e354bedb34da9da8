import type { ClientConfigProfile } from '@temporalio/envconfig';
import { isIPv6 } from 'node:net';
import { maskUrl } from '../mask';

export interface UnusableSetting {
  readonly variable: string;
  readonly why: string;
}

/** gRPC's: everything else is refused by its clients, by one of them without a word of the reason. */
const METADATA_NAME = /^[0-9a-z_.-]+$/;
const METADATA_VALUE = /^[\x20-\x7e]*$/;
const IN_METADATA = 'may hold the printable characters of ASCII only, and no line break';
const META = 'TEMPORAL_GRPC_META_';

/**
 * The first of Temporal's settings that no client could use however long it tries; without the values of secrets.
 *
 * @param env by whose names a setting is called; it may stand in the configuration file as well, which nobody checks for
 *   the types of its values
 */
export function unusableSetting(
  profile: ClientConfigProfile,
  env: Readonly<Record<string, string | undefined>>,
): UnusableSetting | undefined {
  const texts = { ADDRESS: profile.address, NAMESPACE: profile.namespace, API_KEY: profile.apiKey, TLS_SERVER_NAME: profile.tls?.serverName }; // prettier-ignore
  for (const [name, value] of Object.entries(texts)) {
    if (value !== undefined && typeof value !== 'string') return { variable: `TEMPORAL_${name}`, why: 'it is no text' };
  }
  const { address, namespace, apiKey, tls, grpcMeta = {} } = profile;
  if (address !== undefined && !isAddress(address)) {
    return { variable: 'TEMPORAL_ADDRESS', why: `${shown(address, env)} is no host and port such as 127.0.0.1:7233` };
  }
  if (namespace === '') return { variable: 'TEMPORAL_NAMESPACE', why: 'the namespace is empty' };
  if (apiKey !== undefined && !METADATA_VALUE.test(apiKey))
    return { variable: 'TEMPORAL_API_KEY', why: `the API key ${IN_METADATA}` };
  return unusablePair(tls) ?? unusableMetadata(grpcMeta, env);
}

/** In a file of which a quote is missing anything may have become the address. */
function shown(address: string, env: Readonly<Record<string, string | undefined>>): string {
  if (env.TEMPORAL_ADDRESS !== address) return 'the address in the file';
  return JSON.stringify((address.includes('@') ? maskUrl(address) : address).slice(0, 80));
}

/** A host, with or without a port, and no scheme. An IPv6 address stands in brackets. */
function isAddress(address: string): boolean {
  const [, host, ip = '::', port = '7233'] =
    /^(\[([^\]]*)\]|[^\s\p{Cc}\p{Cf}/?#@:[\]\\%<>^|"`]+)(?::(\d{1,5}))?$/u.exec(address) ?? [];
  return host !== undefined && isIPv6(ip) && Number(port) > 0 && Number(port) < 65_536;
}

/** Half of a pair would be left out in silence, and the server then demand the certificate that was given. */
function unusablePair(tls: ClientConfigProfile['tls']): UnusableSetting | undefined {
  if (!tls || tls.disabled || (tls.clientCert === undefined) === (tls.clientKey === undefined)) return undefined;
  const [is, other, missing] = tls.clientCert ? ['certificate', 'key', 'KEY'] : ['key', 'certificate', 'CERT'];
  const either = ['DATA', 'PATH'].map((kind) => `TEMPORAL_TLS_CLIENT_${missing}_${kind}`).join(' or ');
  return { variable: either, why: `the client's ${is} needs its ${other} beside it` };
}

function unusableMetadata(
  metadata: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): UnusableSetting | undefined {
  for (const [name, value] of Object.entries(metadata)) {
    // The library has made some of the underscores in the variable's name to hyphens.
    const isIt = (it: string) =>
      it.toLowerCase().replaceAll('_', '-') === `${META}${name}`.toLowerCase().replaceAll('_', '-');
    const variable = Object.keys(env).find(isIt) ?? `${META}…`;
    if (!METADATA_NAME.test(name)) return { variable, why: 'its end is no name for gRPC metadata' };
    if (name.endsWith('-bin')) return { variable, why: 'gRPC metadata whose name ends with -bin has to be binary' };
    if (typeof value !== 'string' || !METADATA_VALUE.test(value))
      return { variable, why: `gRPC metadata ${IN_METADATA}` };
  }
  return undefined;
}
