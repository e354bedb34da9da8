import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import type { Handler } from 'temporal-outbox';
import { freePort } from '../../../../src/servers/ports';
import { eventually } from '../../../../test/support/eventually';
import { TestOutbox, type InProcessWorker, type Settings } from '../../../../test/support/outbox';
import {
  startMetadataProvider,
  type MetadataProviderOptions,
  type MetadataProviderServer,
} from '../../demo/metadataProvider';
import { NO_FAULTS } from '../../demo/faults';
import { HttpInboxes } from '../../src/adapters/http/inboxes';
import { HttpMetadataProvider } from '../../src/adapters/http/metadata';
import { HttpRemoteActors } from '../../src/adapters/http/remoteActors';
import { HttpSenders } from '../../src/adapters/http/senders';
import { SharpImages } from '../../src/adapters/images/sharp';
import { FileSystemObjectStore } from '../../src/adapters/objectStore/fileSystem';
import { pooled, type Connection } from '../../src/adapters/postgres/connection';
import { migrateDiary } from '../../src/adapters/postgres/migrate';
import { PostgresStoredActors } from '../../src/adapters/postgres/remoteActors';
import { repositories, type Repositories } from '../../src/adapters/postgres/repositories';
import { EVENTS } from '../../src/events';
import { createHandlers, type HandlerDeps } from '../../src/handlers/createHandlers';
import type { MetadataProvider } from '../../src/ports/metadata';
import type { ObjectStore } from '../../src/ports/objectStore';
import { buildServer } from '../../src/server/app';

export const BACKENDS = ['db', 'nats'] as const;

const KNOWS_NOTHING: MetadataProvider = {
  film: () => Promise.resolve(undefined),
  person: () => Promise.resolve(undefined),
  image: () => Promise.resolve(undefined),
};

/** One instance of the application over a database, stream and relay of its own, inside this process. */
export class TestDiary {
  /** Of the handlers: one that knows nothing, until `startProvider`. */
  metadata: MetadataProvider = KNOWS_NOTHING;

  private constructor(
    readonly outbox: TestOutbox,
    readonly pool: Pool,
    readonly connection: Connection,
    readonly repositories: Repositories,
    readonly origin: string,
    readonly objects: ObjectStore,
  ) {}

  static async create(settings: Settings = {}): Promise<TestDiary> {
    const outbox = await TestOutbox.create(settings);
    // What the application enqueues goes to the schema that its environment names.
    process.env.OUTBOX_SCHEMA = outbox.database.schema;
    const pool = new Pool({ connectionString: outbox.database.url, max: 10 });
    pool.on('error', () => undefined);
    await migrateDiary(pool);
    const connection = pooled(pool);
    const stored = repositories(connection);
    const directory = await mkdtemp(join(tmpdir(), 'movie-diary-'));
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const senders = new HttpSenders(new HttpRemoteActors(new PostgresStoredActors(connection)));
    const server = await buildServer({ ...stored, origin, senders });
    await server.listen({ host: '127.0.0.1', port });
    outbox.onClose(async () => {
      await server.close();
      await pool.end();
      await rm(directory, { recursive: true });
    });
    return new TestDiary(outbox, pool, connection, stored, origin, new FileSystemObjectStore(directory));
  }

  /** A worker with the application's handlers; `deps` replaces adapters. */
  startWorker(settings: Settings = {}, deps: Partial<HandlerDeps> = {}): Promise<InProcessWorker> {
    return this.outbox.startWorker(settings, { handlers: this.handlers(deps), events: EVENTS });
  }

  handlers(deps: Partial<HandlerDeps> = {}): Handler[] {
    const { connection, origin, metadata, objects } = this;
    const remoteActors = new HttpRemoteActors(new PostgresStoredActors(connection));
    const federation = { origin, remoteActors, inboxes: new HttpInboxes() };
    return createHandlers({ connection, ...federation, metadata, objects, images: new SharpImages(), ...deps });
  }

  /** A provider for the handlers from now on; quick and without errors, unless told otherwise. */
  async startProvider(options: MetadataProviderOptions = {}): Promise<MetadataProviderServer> {
    const provider = await startMetadataProvider({ ...NO_FAULTS, ...options });
    this.outbox.onClose(() => provider.close());
    this.metadata = new HttpMetadataProvider(provider.url);
    return provider;
  }

  /** A request, and the answer's body. Fails on a status that is none of a success. */
  async request<T = unknown>(method: 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE', url: string, body?: object) {
    const answer = await fetch(`${this.origin}${url}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${url} answered ${answer.status}: ${text}`);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  async user(name = `u${randomUUID().slice(0, 8)}`): Promise<{ id: string; name: string }> {
    return this.request('PUT', `/users/${name}`, { displayName: name });
  }

  /** Ids and types of all events so far, oldest first. */
  async events(): Promise<{ id: string; type: string }[]> {
    const { rows } = await this.outbox.db.query<{ id: string; type: string }>(
      'SELECT event_id::text AS id, event_type AS type FROM :schema.event_queue q ORDER BY q.id',
    );
    return rows;
  }

  /** Resolves when all is published, and every handler is through with every event, follow-ups included. */
  async settled(ms = 60_000): Promise<void> {
    await this.outbox.allDone(ms);
    await eventually(() => this.unhandled().then((count) => count === 0), ms, 'every event handled');
    // A handler may have written another one.
    const open = Object.keys(await this.outbox.rowsByStatus()).filter((status) => status !== 'done');
    if (open.length > 0) await this.settled(ms);
  }

  private async unhandled(): Promise<number> {
    const { rows } = await this.outbox.db.query<{ count: number }>(
      `SELECT count(*)::integer AS count
         FROM :schema.event_queue q
         JOIN LATERAL jsonb_each((SELECT handler_events FROM :schema.outbox_installation)) AS wanted (handler, types)
           ON wanted.types ? q.event_type
         LEFT JOIN :schema.processed_events p ON p.event_id = q.event_id AND p.handler = wanted.handler
        WHERE p.status IS DISTINCT FROM 'done'`,
    );
    return rows[0]?.count ?? 0;
  }

  close(): Promise<void> {
    return this.outbox.close();
  }
}
