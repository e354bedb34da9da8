import { Pool } from 'pg';
import { createWorker } from 'temporal-outbox';
import { HttpInboxes } from './adapters/http/inboxes';
import { HttpMetadataProvider } from './adapters/http/metadata';
import { HttpRemoteActors } from './adapters/http/remoteActors';
import { SharpImages } from './adapters/images/sharp';
import { openObjectStore } from './adapters/objectStore/open';
import { pooled } from './adapters/postgres/connection';
import { PostgresStoredActors } from './adapters/postgres/remoteActors';
import { EVENTS } from './events';
import { createHandlers } from './handlers/createHandlers';
import { readWorkerSettings } from './settings';

/** The worker with this application's handlers, as a process of its own. */
async function main(): Promise<void> {
  const { databaseUrl, origin, metadataUrl, objectStore } = readWorkerSettings(process.env);
  const pool = new Pool({ connectionString: databaseUrl, application_name: 'movie-diary worker' });
  pool.on('error', () => undefined);
  const connection = pooled(pool);
  try {
    const handlers = createHandlers({
      connection,
      origin,
      remoteActors: new HttpRemoteActors(new PostgresStoredActors(connection)),
      inboxes: new HttpInboxes(),
      metadata: new HttpMetadataProvider(metadataUrl),
      objects: openObjectStore(objectStore),
      images: new SharpImages(),
    });
    await createWorker({ handlers, events: EVENTS }).run();
  } finally {
    await pool.end();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`The worker could not start: ${(error as Error).message}\n`);
  process.exitCode = 1;
});
