import { jetstreamManager } from '@nats-io/jetstream';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { connect } from 'nats';
import { findNats } from './findBinaries';
import { requireFree } from './ports';
import { givenServer, silent, type Log, type Server } from './server';
import { onFreePort, StartedServer } from './startedServer';

export interface NatsOptions {
  /** Streams go to `nats/` below it, the log to `logs/`. */
  directory: string;
  /** Default: a free one. */
  port?: number | undefined;
  /** A running server to use as it is. */
  url?: string | undefined;
  /** The largest message that the server takes. Default: the server's own, 1 MiB. */
  maxPayloadBytes?: number | undefined;
  /** Deletes the data first. */
  fresh?: boolean | undefined;
  log?: Log | undefined;
}

/** Starts NATS with JetStream on 127.0.0.1 and resolves when JetStream answers. */
export async function startNats(options: NatsOptions): Promise<Server> {
  if (options.url) return givenServer(options.url);
  const directory = resolve(options.directory);
  const log = options.log ?? silent;
  const data = join(directory, 'nats');
  const config = join(directory, 'nats.conf');
  const binary = await findNats(log);
  let fresh = options.fresh ?? false;

  return onFreePort(options.port, async (port) => {
    const url = `nats://127.0.0.1:${port}`;
    const server = new StartedServer({
      name: 'NATS',
      id: 'nats',
      directory,
      dataDirectory: data,
      url,
      stopSignal: 'SIGTERM',
      log,
      async prepare() {
        if (fresh) rmSync(data, { recursive: true, force: true });
        fresh = false;
        await requireFree(port, 'NATS', 'nats');
        mkdirSync(data, { recursive: true });
        // The size of a message has no flag.
        writeFileSync(config, options.maxPayloadBytes ? `max_payload: ${options.maxPayloadBytes}\n` : '');
      },
      command: () => ({
        file: binary,
        args: ['-c', config, '-js', '-sd', data, '-a', '127.0.0.1', '-p', String(port)],
      }),
      ready: () => jetStreamAnswers(url),
    });
    await server.start();
    log(`NATS is ready on port ${port}`);
    return server;
  });
}

async function jetStreamAnswers(url: string): Promise<void> {
  const connection = await connect({ servers: url, timeout: 1_000, reconnect: false });
  try {
    await (await jetstreamManager(connection, { timeout: 1_000 })).getAccountInfo();
  } finally {
    await connection.close();
  }
}
