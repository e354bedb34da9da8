import { readFileSync } from 'node:fs';
import { credsAuthenticator, nkeyAuthenticator, type NodeConnectionOptions } from 'nats';
import type { Config } from '../config';

type Nats = Config['nats'];
type Login = Pick<NodeConnectionOptions, 'servers' | 'user' | 'pass' | 'token' | 'authenticator' | 'tls'>;

/**
 * Who connects, and how: from the settings. Files are read again for each connection, so that renewed credentials count
 * from the next reconnect on.
 *
 * @throws Error with one clear sentence when a file cannot be used; nothing of its content is in it
 */
export function natsLogin(nats: Nats): Login {
  const { servers, login, wantsTls } = readUrl(nats.url);
  const tls = tlsOptions(nats);
  const authenticator = authenticatorOf(nats);
  return {
    servers,
    ...login,
    ...(nats.user !== undefined && { user: nats.user, pass: nats.password ?? '' }),
    ...(nats.token !== undefined && { token: nats.token }),
    ...(authenticator && { authenticator }),
    // Asked for, it must not be left out in silence by a server, or by somebody between, that offers none.
    ...((tls ?? wantsTls) && { tls: tls ?? {} }),
  };
}

/** The settings that say who connects; for a sentence that says where to look. */
export function loginSettings(nats: Nats): string {
  if (nats.credentialsFile) return 'NATS_CREDS';
  if (nats.nkeyFile) return 'NATS_NKEY';
  if (nats.token !== undefined) return 'NATS_TOKEN';
  if (nats.user !== undefined) return 'NATS_USER and NATS_PASSWORD';
  const { login } = readUrl(nats.url);
  if (login.user !== undefined || login.token !== undefined) return 'user, password or token in NATS_URL';
  return 'NATS_CREDS, NATS_NKEY, NATS_TOKEN, or NATS_USER and NATS_PASSWORD, of which none is set';
}

function authenticatorOf(nats: Nats): Login['authenticator'] {
  const file = nats.credentialsFile ?? nats.nkeyFile;
  if (!file) return undefined;
  const authenticator = nats.credentialsFile
    ? credsAuthenticator(() => readFileSync(file))
    : nkeyAuthenticator(() => seedOf(readFileSync(file)));
  try {
    authenticator('nonce');
  } catch (error) {
    // The cause is left out: a parser may quote what it could not read.
    const code = (error as { code?: unknown }).code;
    const why = typeof code === 'string' && /^E[A-Z]+$/.test(code) ? `cannot be read (${code})` : undefined;
    throw nats.credentialsFile
      ? new Error(`NATS_CREDS: ${file} ${why ?? 'holds no credentials as `nsc generate creds` writes them'}`)
      : new Error(`NATS_NKEY: ${file} ${why ?? 'holds no seed of an nkey, which begins with SU'}`);
  }
  return authenticator;
}

/** A seed file may hold comments and blank lines, as `nk` and `nsc` write them. */
function seedOf(file: Buffer): Uint8Array {
  const line = /^\s*(S[A-Z2-7]{20,})\s*$/m.exec(file.toString('utf8'));
  return new TextEncoder().encode(line?.[1] ?? '');
}

function tlsOptions(nats: Nats): Login['tls'] {
  if (!nats.tlsCaFile && !nats.tlsCertFile) return undefined;
  return {
    ...(nats.tlsCaFile && { caFile: nats.tlsCaFile }),
    ...(nats.tlsCertFile && { certFile: nats.tlsCertFile }),
    ...(nats.tlsKeyFile && { keyFile: nats.tlsKeyFile }),
  };
}

/** User and password belong in options: the client takes a server list without them. */
function readUrl(url: string): {
  servers: string[];
  login: Pick<NodeConnectionOptions, 'user' | 'pass' | 'token'>;
  wantsTls: boolean;
} {
  const servers: string[] = [];
  let login: Pick<NodeConnectionOptions, 'user' | 'pass' | 'token'> = {};
  let wantsTls = false;
  for (const part of url
    .split(',')
    .map((text) => text.trim())
    .filter(Boolean)) {
    const parsed = new URL(part.includes('://') ? part : `nats://${part}`);
    if (parsed.username && parsed.password) {
      login = { user: decodeURIComponent(parsed.username), pass: decodeURIComponent(parsed.password) };
    } else if (parsed.username) {
      login = { token: decodeURIComponent(parsed.username) };
    }
    if (parsed.protocol === 'tls:') wantsTls = true;
    parsed.username = parsed.password = '';
    servers.push(parsed.toString());
  }
  return { servers, login, wantsTls };
}
