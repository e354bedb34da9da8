import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import pino from 'pino';
import type { AttemptRequest, DeliveryDeps } from '../../src/activities/deliverer';
import { createDeliveryActivities } from '../../src/activities/delivery';
import type { Handler } from '../../src/handlers/defineHandler';
import type { RedactFailure } from '../../src/handlers/failureText';
import type { IncomingEvent } from '../../src/handlers/incoming';
import { HandlerRegistry } from '../../src/handlers/registry';
import { Seats } from '../../src/handlers/seats';
import { claimLedger } from '../../src/ledger/claim';
import { Leases } from '../../src/ledger/leases';
import type { Database } from '../../src/postgres/database';
import type { AttemptResult } from '../../src/workflows/deliveryMessages';
import type { TestOutbox } from './outbox';

/** What the activities of a delivery run need, without a worker and without Temporal. */
export function standAlone(
  outbox: TestOutbox,
  handlers: readonly Handler[],
  more: { redact?: RedactFailure } = {},
): { deps: DeliveryDeps; logs: Record<string, unknown>[]; ending: AbortController; close: () => void } {
  const logs: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'debug', base: null },
    { write: (line: string) => void logs.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const config = outbox.config();
  const leases = new Leases(outbox.db, config.handling, logger);
  const ending = new AbortController();
  const registry = HandlerRegistry.of(handlers);
  return {
    deps: {
      db: outbox.db,
      config,
      registry,
      leases,
      logger,
      stopping: new AbortController().signal,
      ending: ending.signal,
      transactions: new Seats(4),
      ...more,
    },
    logs,
    ending,
    close: () => leases.close(),
  };
}

/** One attempt of a delivery run, as the handler's activity makes it. @param attempts spent, as far as the run knows */
export function attemptOf(deps: DeliveryDeps, handler: string, eventId: string, attempts?: number) {
  const activities = createDeliveryActivities(deps) as unknown as Record<
    string,
    (request: AttemptRequest) => Promise<AttemptResult>
  >;
  return runActivity(() => activities[handler]!({ eventId, ...(attempts !== undefined && { attempts }) }));
}

/** Runs an activity as a worker would. */
export function runActivity<T>(activity: () => Promise<T>): Promise<T> {
  return new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') }).run(activity);
}

/** An event as the fast path gets it from a stream that no outbox has. */
export function eventRecord(over: Partial<IncomingEvent> = {}): IncomingEvent {
  return {
    ...{ eventId: randomUUID(), eventType: 'ThingHappened', aggregateType: 'thing', aggregateId: 'a', version: 1 },
    ...{ companyId: null, orgUnitId: null, correlationId: null, causationId: null, headers: {} },
    ...{ payload: '{"n":1}', occurredAt: '2026-01-01T00:00:00.000000Z', source: 'EVENTS/7' },
    ...over,
  };
}

/** Claims the ledger. @returns the owner token */
export async function claimed(db: Database, eventId: string, handler: string, leaseMs = 30_000): Promise<number> {
  const [verdict] = (await claimLedger(db, [{ eventId, handler }], { leaseMs, maxLeaseMs: 1_800_000 })).verdicts;
  if (verdict?.kind !== 'claimed') throw new Error(`not claimed, but ${JSON.stringify(verdict)}`);
  return verdict.startedAt;
}
