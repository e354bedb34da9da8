import { NatsLink } from '../broker/link';
import { explained } from '../cli/database';
import { sentenceOf } from '../cli/failure';
import type { Config } from '../config';
import { createLogger } from '../logger';
import { openDatabase } from '../postgres/database';
import { connectClient, type TemporalClient } from '../temporal/client';
import { cleanUp } from './cleanUp';
import { clocks } from './clocks';
import { durable } from './durable';
import type { Check, Finding, Patient } from './finding';
import { horizon } from './horizon';
import { listening } from './listening';
import { natsServer } from './natsServer';
import { postgresServer } from './postgresServer';
import { privileges } from './privileges';
import { runs } from './runs';
import { schemaVersion } from './schemaVersion';
import { searchAttributes } from './searchAttributes';
import { stream } from './stream';
import { temporalServer } from './temporalServer';
import { transactions } from './transactions';
import { unowned } from './unowned';
import { vacuum } from './vacuum';
import { versions } from './versions';
import { workers } from './workers';

/** A person waits. */
const CONNECT_TIMEOUT_MS = 3_000;
const QUERY_TIMEOUT_MS = 15_000;

/** In the order in which one would look by hand: what the others stand on comes first. */
const CHECKS: readonly Check[] = [
  postgresServer, listening, schemaVersion, privileges, natsServer, stream, durable, horizon, temporalServer,
  searchAttributes, runs, workers, versions, unowned, cleanUp, clocks, vacuum, transactions,
]; // prettier-ignore

/** Makes every check that the settings have a use for. Never rejects: what cannot be looked at is told. */
export async function examine(config: Config, appRole: string | undefined): Promise<Finding[]> {
  const db = openDatabase({
    url: config.databaseUrl,
    schema: config.schema,
    poolSize: 2,
    applicationName: 'temporal-outbox doctor',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  });
  let nats: Promise<NatsLink> | undefined;
  let temporal: Promise<TemporalClient> | undefined;
  const patient: Patient = {
    ...{ config, db, appRole },
    nats: () => (nats ??= openNats(config)),
    temporal: () => (temporal ??= connectClient({ connectTimeoutMs: CONNECT_TIMEOUT_MS })),
  };
  try {
    const findings: Finding[] = [];
    for (const check of CHECKS) {
      if (check.concerns?.(config) ?? true) findings.push(...(await make(check, patient)));
    }
    return findings;
  } finally {
    await Promise.allSettled([
      nats?.then((link) => link.close()),
      temporal?.then((client) => client.close()),
      db.close(),
    ]);
  }
}

async function make({ name, look }: Check, patient: Patient): Promise<Finding[]> {
  try {
    return (await look(patient)).map((found) => ({ check: name, ...found }));
  } catch (error) {
    const what = sentenceOf(explained(error, patient.config));
    return [{ check: name, level: 'unknown', what, todo: null }];
  }
}

async function openNats(config: Config): Promise<NatsLink> {
  const link = new NatsLink(config.nats, createLogger('silent'), () => Promise.resolve());
  await link.start();
  if (link.connection && link.up) return link;
  await link.close();
  throw new Error(`${link.reason}: check that it runs, and NATS_URL`);
}
