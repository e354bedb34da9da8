import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { EventDefinition, HandledEvent, Handler } from 'temporal-outbox';

/** An event as a worker hands it over. */
export function handled<Payload>(
  { type, version }: EventDefinition<string, Payload>,
  payload: Payload,
  eventId: string = randomUUID(),
): HandledEvent {
  return {
    ...{ eventId, type, version, payload, aggregateType: 'any', aggregateId: 'any', companyId: null, orgUnitId: null },
    ...{ headers: {}, correlationId: null, causationId: null, occurredAt: '2024-02-01T10:00:00.123456Z' },
  };
}

/** One attempt as a worker makes it, but for the ledger: whatever is prevented now is prevented by the handler itself. */
export async function runHandler(
  handlers: readonly Handler[],
  name: string,
  event: HandledEvent,
  pool: Pool,
): Promise<void> {
  const handler = handlers.find((candidate) => candidate.name === name);
  if (!handler) throw new Error(`There is no handler ${name}`);
  const { signal } = new AbortController();
  if (!handler.transactional) {
    await handler.run(event, { signal, idempotencyKey: `${event.eventId}:${name}`, attempt: 1 });
    return;
  }
  const client = await pool.connect();
  let lost: Error | undefined;
  // Without a listener, a connection that is lost would end the test.
  const onError = (error: Error) => (lost = error);
  client.on('error', onError);
  try {
    await client.query('BEGIN');
    await handler.run(event, { tx: client, signal, attempt: 1 });
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch((rollback: unknown) => (lost = rollback as Error));
    throw error;
  } finally {
    client.off('error', onError);
    client.release(lost);
  }
}
