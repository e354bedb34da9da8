import { openDatabase } from '../../src/postgres/database';
import { migrate } from '../../src/postgres/migrate';
import type { Server } from '../../src/servers';
import { TEMPLATE_DATABASE, TEMPLATE_SCHEMA, testEnvironment } from '../support/environment';
import { OwnServers } from '../support/ownServers';

export interface OwnWorld {
  readonly postgres: Server;
  readonly nats: Server;
  readonly temporal: Server;
  close(): Promise<void>;
}

/** All three servers for one test file, so that they can be restarted; what it opens from now on is on them. */
export async function ownWorld(): Promise<OwnWorld> {
  const own = new OwnServers();
  const [postgres, nats, temporal] = await Promise.all([own.postgres(), own.nats(), own.temporal()]);
  const admin = openDatabase({ url: postgres.url, schema: 'public', poolSize: 1 });
  await admin.query(`CREATE DATABASE ${TEMPLATE_DATABASE}`);
  await admin.close();
  const url = new URL(postgres.url);
  url.pathname = `/${TEMPLATE_DATABASE}`;
  const template = openDatabase({ url: url.toString(), schema: TEMPLATE_SCHEMA, poolSize: 1 });
  await migrate(template);
  await template.close();
  // Each test file has an environment of its own.
  process.env.OUTBOX_TEST = JSON.stringify({
    ...testEnvironment(),
    postgresUrl: postgres.url,
    natsUrl: nats.url,
    temporalAddress: temporal.url,
  });
  return { postgres, nats, temporal, close: () => own.close() };
}
