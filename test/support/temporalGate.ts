import {
  connect,
  createSecureServer,
  type Http2SecureServer,
  type SecureServerOptions,
  type ServerHttp2Session,
} from 'node:http2';
import type { OutgoingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** gRPC's UNAUTHENTICATED. */
const UNAUTHENTICATED = '16';

/**
 * Temporal behind TLS and an API key, which its development server offers neither of: each call is passed on, once the
 * handshake is done and the key is right.
 */
export class TemporalGate {
  private readonly sessions = new Set<ServerHttp2Session>();

  private constructor(
    private readonly server: Http2SecureServer,
    readonly address: string,
  ) {}

  /** @param to address of the server behind it */
  static async open(to: string, options: SecureServerOptions & { apiKey?: string }): Promise<TemporalGate> {
    const server = createSecureServer(options);
    const upstream = connect(`http://${to}`);
    upstream.on('error', () => undefined).unref();
    server.on('tlsClientError', () => undefined).on('sessionError', () => undefined);
    server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      if (options.apiKey !== undefined && headers.authorization !== `Bearer ${options.apiKey}`) {
        const refusal = { 'grpc-status': UNAUTHENTICATED, 'grpc-message': 'Request unauthorized.' };
        stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...refusal }, { endStream: true });
        return;
      }
      const passed = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== ':authority'));
      const call = upstream.request({ ...passed, ':scheme': 'http', ':authority': to });
      call.on('error', () => stream.close());
      call.on('response', (answer, flags) => {
        // END_STREAM: a call that failed has its status in the headers, and no trailers.
        if (flags & 1) {
          stream.respond(answer, { endStream: true });
          return;
        }
        stream.respond(answer, { waitForTrailers: true });
        let trailers: OutgoingHttpHeaders = {};
        call.on('trailers', (given: OutgoingHttpHeaders) => void (trailers = given));
        stream.on('wantTrailers', () => stream.sendTrailers(trailers));
        call.pipe(stream);
      });
      stream.on('close', () => call.close());
      stream.pipe(call);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const gate = new TemporalGate(server, `127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('session', (session) => {
      gate.sessions.add(session);
      session.on('close', () => gate.sessions.delete(session));
    });
    return gate;
  }

  async close(): Promise<void> {
    for (const session of this.sessions) session.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}
