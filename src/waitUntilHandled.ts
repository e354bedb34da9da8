import { setTimeout as sleep } from 'node:timers/promises';
import { NotHandledError } from './errors';
import { UUID } from './event';
import { judge, type Look } from './deliveries/judgeHandling';
import { binder, type Queryable } from './postgres/database';
import { schemaOf } from './postgres/schemaName';

export interface WaitUntilHandledOptions {
  /** Only this handler. Default: every recorded handler that takes events of this type. */
  readonly handler?: string;
  /** Default 30,000. */
  readonly timeoutMs?: number;
  /** Default: OUTBOX_SCHEMA, else `public`. */
  readonly schema?: string;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 250;

/** A few index entries and the one row of the installation. */
const LOOK = `
  /* outbox: look for outcome */
  SELECT (SELECT jsonb_build_object('type', event_type, 'status', status, 'reason', failure_reason)
            FROM :schema.event_queue WHERE event_id = $1::uuid) AS row,
         (SELECT jsonb_object_agg(handler, status) FROM :schema.processed_events WHERE event_id = $1::uuid) AS ledger,
         (SELECT jsonb_object_agg(handler, jsonb_build_object('state', state, 'attempts', attempts, 'reason', failure_reason, 'type', event_type))
            FROM :schema.deliveries WHERE event_id = $1::uuid) AS deliveries,
         (SELECT handler_events FROM :schema.outbox_installation) AS recorded`;

/**
 * Resolves when the handlers of an event have had their effect, or were skipped. For tests, and for a request that
 * answers only then. Reads PostgreSQL alone; an event that is not known yet, as its transaction is still open, is waited
 * for.
 *
 * @throws DeadLetterError as soon as one of the handlers, or the relay, gave the event up; NotHandledError after the
 *   time-out, saying what is open; UnknownHandlerError when there is nobody to wait for; RangeError for what is no event id
 */
export async function waitUntilHandled(
  db: Queryable,
  eventId: string,
  options: WaitUntilHandledOptions = {},
): Promise<void> {
  if (!UUID.test(eventId)) {
    throw new RangeError(`${JSON.stringify(eventId.slice(0, 100))} is no event id: an event id is a UUID`);
  }
  const sql = binder(schemaOf(options.schema))(LOOK);
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const end = performance.now() + timeoutMs;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
    // Before the look, so that the last one comes no earlier than the end.
    const left = end - performance.now();
    const { rows } = await db.query(sql, [eventId]);
    const open = judge(eventId, rows[0] as Look, options.handler);
    if (open === undefined) return;
    if (left <= 0) throw new NotHandledError(eventId, timeoutMs, open);
    await sleep(Math.min(wait, left));
  }
}
