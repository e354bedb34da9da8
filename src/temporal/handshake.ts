import type { ConnectionOptions as TemporalOptions } from '@temporalio/client';
import { isIP } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { tlsFault } from '../tlsFault';

/** For the whole look; a server that takes longer is slow, which is no fault of a certificate. */
const TIMEOUT_MS = 3_000;
/** In TLS 1.3 a server judges the client's certificate after the client has finished, and then closes or says so. */
const VERDICT_MS = 500;
const DEFAULT_PORT = 7233;

/**
 * Makes one TLS handshake of its own after a connection to Temporal has failed. The SDK's clients only say that they could
 * not connect, and one of them nothing else until its time is over.
 *
 * @returns what is wrong and where to look, as the end of a sentence that begins with the server; undefined when
 *   certificates are not the reason
 */
export async function whyNoHandshake(
  address: string,
  tls: TemporalOptions['tls'] | undefined,
): Promise<string | undefined> {
  const wanted = tls === true ? {} : tls || undefined;
  const { host, port } = hostAndPort(address);
  const name = wanted?.serverNameOverride ?? (isIP(host) ? undefined : host);
  const ended = await handshake({
    host,
    port,
    ALPNProtocols: ['h2'],
    // Asked only whether it speaks TLS, nothing is sent to it and nothing trusted.
    rejectUnauthorized: wanted !== undefined,
    ...(name !== undefined && { servername: name }),
    ...(wanted?.serverRootCACertificate && { ca: Buffer.from(wanted.serverRootCACertificate) }),
    ...(wanted?.clientCertPair && {
      cert: Buffer.from(wanted.clientCertPair.crt),
      key: Buffer.from(wanted.clientCertPair.key),
    }),
  });
  if (!wanted) {
    return ended.secure
      ? 'speaks TLS only: set TEMPORAL_TLS=true, or TEMPORAL_API_KEY, which turns it on as well'
      : undefined;
  }
  const fault = ended.error ? tlsFault(ended.error) : ended.secure && ended.closed ? CLOSED : undefined;
  if (fault === 'it does not speak TLS') return 'does not speak TLS: check TEMPORAL_ADDRESS, or set TEMPORAL_TLS=false';
  return (
    fault &&
    `cannot be trusted, or does not trust us: ${fault}. Check TEMPORAL_TLS_SERVER_CA_CERT_PATH, TEMPORAL_TLS_SERVER_NAME, TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH`
  );
}

const CLOSED = 'it closes the connection, as a server does that demands another client certificate';

interface Ended {
  /** The handshake was done, as far as the client can tell. */
  readonly secure: boolean;
  readonly closed: boolean;
  readonly error?: unknown;
}

function handshake(options: ConnectionOptions): Promise<Ended> {
  return new Promise((resolve) => {
    let secure = false;
    let socket: TLSSocket | undefined;
    let timer: NodeJS.Timeout | undefined;
    const end = (how: Omit<Ended, 'secure'>) => {
      clearTimeout(timer);
      socket?.destroy();
      resolve({ secure, ...how });
    };
    timer = setTimeout(() => end({ closed: false }), TIMEOUT_MS);
    try {
      socket = connect(options, () => {
        secure = true;
        clearTimeout(timer);
        timer = setTimeout(() => end({ closed: false }), VERDICT_MS);
      });
    } catch (error) {
      // A key that does not belong to its certificate is refused here.
      end({ closed: true, error });
      return;
    }
    socket.on('error', (error: NodeJS.ErrnoException) =>
      end({ closed: true, error: isReset(error) ? undefined : error }),
    );
    socket.on('close', () => end({ closed: true }));
    // A socket that nobody reads does not notice that the other side has ended.
    socket.resume();
  });
}

function isReset(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

function hostAndPort(address: string): { host: string; port: number } {
  const { hostname, port } = new URL(address.includes('://') ? address : `tcp://${address}`);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || DEFAULT_PORT) };
}
