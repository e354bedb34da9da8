import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { escapeLiteral } from 'pg';
import { openDatabase } from '../../src/postgres/database';
import { migrate } from '../../src/postgres/migrate';
import { startServers } from '../../src/servers';
import { TEMPLATE_DATABASE, TEMPLATE_SCHEMA, TEST_ROLES, type TestEnvironment } from './environment';

/** Starts the servers once for all test files, migrates the template database and bundles the workflows. */
export default async function globalSetup(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-test-'));
  const given = {
    ...(process.env.DATABASE_URL && { databaseUrl: process.env.DATABASE_URL }),
    ...(process.env.NATS_URL && { natsUrl: process.env.NATS_URL }),
    ...(process.env.TEMPORAL_ADDRESS && { temporalAddress: process.env.TEMPORAL_ADDRESS }),
  };
  const servers = await startServers({ directory, durable: false, given });
  globalThis.outboxTestServers = { stop: () => servers.stop(), directory };

  const admin = openDatabase({ url: servers.postgres.url, schema: 'public', poolSize: 1 });
  await admin.query(`DROP DATABASE IF EXISTS ${TEMPLATE_DATABASE}`);
  await admin.query(`CREATE DATABASE ${TEMPLATE_DATABASE}`);
  const url = new URL(servers.postgres.url);
  for (const role of Object.values(TEST_ROLES)) {
    const known = await admin.query(`SELECT FROM pg_roles WHERE rolname = $1`, [role]);
    if (known.rows.length === 0) await admin.query(`CREATE ROLE ${role} LOGIN`);
    if (url.password)
      await admin.query(`ALTER ROLE ${role} PASSWORD ${escapeLiteral(decodeURIComponent(url.password))}`);
  }
  await admin.close();
  url.pathname = `/${TEMPLATE_DATABASE}`;
  const template = openDatabase({ url: url.toString(), schema: TEMPLATE_SCHEMA, poolSize: 1 });
  await migrate(template);
  await template.close();

  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../../src/workflows'),
    payloadConverterPath: require.resolve('../../src/workflows/payloadConverter'),
    logger: new DefaultLogger('WARN'),
  });
  const workflowBundle = join(directory, 'workflow-bundle.js');
  writeFileSync(workflowBundle, code);

  const environment: TestEnvironment = {
    postgresUrl: servers.postgres.url,
    natsUrl: servers.nats.url,
    temporalAddress: servers.temporal.url,
    workflowBundle,
    directory,
  };
  process.env.OUTBOX_TEST = JSON.stringify(environment);
}
