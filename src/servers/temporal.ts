import { Connection } from '@temporalio/client';
import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findTemporal } from './findBinaries';
import { freePort, requireFree } from './ports';
import { POLL_MS } from './processes';
import { givenServer, silent, type Log, type Server } from './server';
import { onFreePort, StartedServer } from './startedServer';
import { deadlineIn } from '../temporal/deadline';

export interface TemporalOptions {
  /** History goes to `temporal/` below it, the log to `logs/`. */
  directory: string;
  /** Default: a free one. */
  port?: number | undefined;
  /** Default: a free one. */
  uiPort?: number | undefined;
  /** Without the web UI. */
  headless?: boolean | undefined;
  /** Address of a running server to use as it is. */
  url?: string | undefined;
  /** More flags for `temporal server start-dev`. */
  extraArgs?: string[] | undefined;
  /** Deletes the data first. */
  fresh?: boolean | undefined;
  log?: Log | undefined;
}

export type TemporalServer = Server & { uiUrl: string | undefined };

/** What the relay's delivery runs are found by in the UI. */
const SEARCH_ATTRIBUTES = { OutboxEventType: 'Keyword', OutboxAggregateId: 'Keyword', OutboxHandler: 'KeywordList' };

/**
 * The dev server's single shard otherwise hands out 20 transfer tasks a second, so that every activity waits 40 ms.
 */
export const UNTHROTTLED = [
  'history.transferProcessorMaxPollRPS=100000',
  'history.transferProcessorMaxPollHostRPS=100000',
];

/** Starts Temporal's dev server, with its UI, on 127.0.0.1; resolves when its namespace `default` can be used. */
export async function startTemporal(options: TemporalOptions): Promise<TemporalServer> {
  if (options.url) return { ...givenServer(options.url), uiUrl: undefined };
  const directory = resolve(options.directory);
  const log = options.log ?? silent;
  const data = join(directory, 'temporal');
  const binary = await findTemporal(log);
  let fresh = options.fresh ?? false;

  return onFreePort(options.port, async (port) => {
    const address = `127.0.0.1:${port}`;
    const uiPort = options.headless ? undefined : (options.uiPort ?? (await freePort()));
    const server = new StartedServer({
      name: 'Temporal',
      id: 'temporal',
      directory,
      dataDirectory: data,
      url: address,
      stopSignal: 'SIGTERM',
      log,
      async prepare() {
        if (fresh) rmSync(data, { recursive: true, force: true });
        fresh = false;
        await requireFree(port, 'Temporal', 'temporal');
        if (uiPort) await requireFree(uiPort, "Temporal's UI", 'temporalUi');
        mkdirSync(data, { recursive: true });
      },
      command: () => ({
        file: binary,
        env: ownEnvironment(data),
        args: [
          ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port)],
          ...(uiPort ? ['--ui-port', String(uiPort)] : ['--headless']),
          ...['--db-filename', join(data, 'temporal.db'), '--log-level', 'warn'],
          ...UNTHROTTLED.flatMap((value) => ['--dynamic-config-value', value]),
          ...Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
          ...(options.extraArgs ?? []),
        ],
      }),
      ready: () => namespaceIsUsable(address),
    });
    await server.start();
    const uiUrl = uiPort ? `http://127.0.0.1:${uiPort}` : undefined;
    log(`Temporal is ready on port ${port}${uiUrl ? `, its UI on ${uiUrl}` : ''}`);
    return Object.assign(server, { uiUrl });
  });
}

/**
 * The server reads no settings of the user's: neither the CLI's files below HOME, which may be unreadable, nor the
 * client's variables. It does not start without USER and HOME, which a container may lack.
 */
function ownEnvironment(home: string): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  return { ...Object.fromEntries(others), HOME: home, USER: process.env.USER || 'temporal' };
}

/** The namespace appears before its search attributes do, and a workflow that sets them at once would be refused. */
async function namespaceIsUsable(address: string): Promise<void> {
  const connection = await Connection.connect({
    address,
    connectTimeout: 1_000,
    channelArgs: {
      // A proxy from the environment does not lead to this machine.
      'grpc.enable_http_proxy': 0,
      // Refused while the server starts, a channel would wait a second before it tries again.
      'grpc.initial_reconnect_backoff_ms': POLL_MS,
      'grpc.max_reconnect_backoff_ms': POLL_MS,
    },
  });
  try {
    await connection.withDeadline(deadlineIn(2_000), async () => {
      await connection.workflowService.describeNamespace({ namespace: 'default' });
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
      const missing = Object.keys(SEARCH_ATTRIBUTES).filter((name) => !(name in customAttributes));
      if (missing.length > 0) throw new Error(`search attribute ${missing[0]} is not registered yet`);
    });
  } finally {
    await connection.close();
  }
}
