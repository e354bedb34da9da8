import { Pool } from 'pg';
import { HttpInboxes } from './adapters/http/inboxes';
import { HttpMetadataProvider } from './adapters/http/metadata';
import { HttpRemoteActors } from './adapters/http/remoteActors';
import { SharpImages } from './adapters/images/sharp';
import { openObjectStore } from './adapters/objectStore/open';
import { pooled } from './adapters/postgres/connection';
import { PostgresStoredActors } from './adapters/postgres/remoteActors';
import type { HandlerDeps } from './handlers/createHandlers';
import type { readWorkerSettings } from './settings';

/**
 * A delivery holds one while another instance answers, at most as many at once as a handler's concurrency (8); the rest is
 * for the short statements of the others.
 */
const POOL_SIZE = 14;
const CONNECT_TIMEOUT_MS = 10_000;

/** What the handlers reach the world with, as the settings name it. The caller closes it. */
export function openAdapters({
  databaseUrl,
  origin,
  metadataUrl,
  objectStore,
}: ReturnType<typeof readWorkerSettings>): HandlerDeps & { close(): Promise<void> } {
  const pool = new Pool({
    connectionString: databaseUrl,
    application_name: 'movie-diary worker',
    max: POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A connection that dies while idle is replaced at the next query; without a listener it would end the process.
  pool.on('error', () => undefined);
  const connection = pooled(pool);
  return {
    connection,
    origin,
    remoteActors: new HttpRemoteActors(new PostgresStoredActors(connection)),
    inboxes: new HttpInboxes(),
    metadata: new HttpMetadataProvider(metadataUrl),
    objects: openObjectStore(objectStore),
    images: new SharpImages(),
    close: () => pool.end(),
  };
}
