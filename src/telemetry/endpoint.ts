import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../logger';
import type { MetricsAddress } from './address';
import { CONTENT_TYPE } from './meter';
import type { Readiness } from './readiness';

export interface Served {
  metrics(): Promise<string>;
  readiness(): Promise<Readiness>;
}

/** A client that sends or reads one byte a minute must not hold a connection for ever. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Far more than scrape and probe at the same time. */
const MOST_CONNECTIONS = 100;

/** `/metrics`, `/healthz` and `/readyz` over HTTP. */
export class Endpoint {
  private constructor(private readonly server: Server) {}

  /**
   * Listens on the first port that is free. One that cannot listen is no reason for a worker not to work: it warns, once.
   *
   * @returns undefined then
   */
  static async open(address: MetricsAddress, served: Served, logger: Logger): Promise<Endpoint | undefined> {
    let reason = '';
    for (let port = address.firstPort; port <= address.lastPort; port++) {
      const server = createServer((request, response) => void answer(request, response, served));
      server.requestTimeout = server.headersTimeout = server.timeout = REQUEST_TIMEOUT_MS;
      // Answers that nobody reads pile up in memory: one for each connection, and not for any number of them.
      server.maxRequestsPerSocket = 1;
      server.maxConnections = MOST_CONNECTIONS;
      try {
        await listen(server, address.host, port);
      } catch (error) {
        reason = (error as Error).message;
        if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
        break;
      }
      server.on('error', (error) => logger.warn(`The server of the metrics has met an error: ${error.message}`));
      // Whatever else would keep the process, this must not.
      server.unref();
      const { address: host, family, port: listening } = server.address() as AddressInfo;
      const url = `http://${family === 'IPv6' ? `[${host}]` : host}:${listening}`;
      logger.info({ url: `${url}/metrics` }, 'Metrics, /healthz and /readyz are served');
      return new Endpoint(server);
    }
    logger.warn(
      `No metrics are served, nor /healthz and /readyz (${reason}); set OUTBOX_METRICS_ADDRESS to a free port, or to off. The worker works without them.`,
    );
    return undefined;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, served: Served): Promise<void> {
  const send = (status: number, type: string, body: string) => {
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
  const json = (status: number, body: object) => send(status, 'application/json', `${JSON.stringify(body)}\n`);
  try {
    if (request.method !== 'GET' && request.method !== 'HEAD') return json(405, { error: 'only GET is answered' });
    switch (request.url?.split('?', 1)[0] ?? '') {
      case '/metrics':
        return send(200, CONTENT_TYPE, await served.metrics());
      case '/healthz':
        return json(200, { alive: true });
      case '/readyz': {
        const readiness = await served.readiness();
        return json(readiness.ready ? 200 : 503, readiness);
      }
      default:
        return json(404, { error: 'there are /metrics, /healthz and /readyz' });
    }
  } catch {
    // The requester learns no more than that; the log has the reason where there is one to act on.
    if (!response.headersSent) json(500, { error: 'it could not be read' });
  }
}
