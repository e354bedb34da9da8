import { EnqueueError } from '../errors';
import { DEFAULT_MAX_PAYLOAD_BYTES, type NewEvent } from '../event';
import { wakeChannel } from '../postgres/channel';
import { binder, type Queryable } from '../postgres/database';
import { schemaOf } from '../postgres/schemaName';
import { activeHeaders } from '../tracing/context';
import { encodeEvent } from './encode';
import { quote } from './refuse';

export interface EnqueueOptions {
  /** Default: OUTBOX_SCHEMA, else `public`. */
  readonly schema?: string;
  /**
   * `false` for very busy or two-phase writers: commits that notify run one after the other, and a prepared
   * transaction cannot notify at all. The relay then finds the events at its next poll, within 5 s.
   * Default: on, unless OUTBOX_NOTIFY is `off`.
   */
  readonly wake?: boolean;
  /** Default: OUTBOX_MAX_PAYLOAD_BYTES, else 1 MiB less 16 KiB. */
  readonly maxPayloadBytes?: number;
}

/**
 * `jsonb_to_recordset` gives SQL's NULL for JSON's, hence the coalesce: a payload of `null` is a payload.
 * `pg_notify` with equal arguments is sent once per transaction, so any number of calls wakes the relay once.
 */
const ENQUEUE = `
  /* outbox: enqueue */
  WITH given AS (
    SELECT * FROM ROWS FROM (jsonb_to_recordset($1::text::jsonb) AS (
      i uuid, t text, a text, k text, c uuid, o uuid, p jsonb, h jsonb, v integer, r text, s text, w timestamptz, d timestamptz
    )) WITH ORDINALITY AS e (i, t, a, k, c, o, p, h, v, r, s, w, d, position)
  ), inserted AS (
    INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, company_id, org_unit_id,
      payload, headers, version, correlation_id, causation_id, occurred_at, available_at)
    SELECT i, t, a, k, c, o, coalesce(p, 'null'::jsonb), h, v, r, s, coalesce(w, clock_timestamp()), coalesce(d, clock_timestamp())
      FROM given ORDER BY position
  )
  SELECT CASE WHEN $2::text IS NOT NULL THEN pg_notify($2, '') END`;

/**
 * Writes events to the outbox in the caller's transaction; the only way in. Never begins or commits: the events are
 * there exactly when the caller's data is. One statement for any number of events.
 *
 * @param tx what runs the transaction's statements: a `pg` client, or `{ query: (text, values) => … }` over any other
 * @returns the event ids, in the order given
 * @throws EnqueueError before any SQL for what could never be delivered; the transaction is untouched by it
 */
export async function enqueueEvents(
  tx: Queryable,
  events: readonly NewEvent[],
  options: EnqueueOptions = {},
): Promise<string[]> {
  if (!Array.isArray(events)) throw new TypeError('events must be an array of events');
  if (events.length === 0) return [];
  const schema = schemaOf(options.schema);
  const sql = binder(schema)(ENQUEUE);
  const maxBytes = options.maxPayloadBytes ?? maxPayloadFromEnvironment();
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 1)
    throw new RangeError(`maxPayloadBytes must be a whole number from 1, not ${quote(maxBytes)}`);
  const wake = options.wake ?? process.env.OUTBOX_NOTIFY !== 'off';

  const ambient = activeHeaders();
  const ids = new Set<string>();
  const flaws: Promise<EnqueueError | undefined>[] = [];
  // Not by `map`, which passes a hole over: what is then joined is no JSON.
  const encoded = Array.from(events as readonly NewEvent[], (event, index) => {
    const { id, record, flaw } = encodeEvent(event, index, maxBytes, ambient);
    if (flaw) flaws.push(flaw.then((text) => (text ? new EnqueueError('invalid-payload', index, text) : undefined)));
    if (ids.has(id)) throw new EnqueueError('duplicate-event-id', index, `the event id ${id} is given twice`);
    ids.add(id);
    return record;
  });
  // None of them rejects: one that did while a later event was refused would end the process.
  if (flaws.length > 0) for (const refusal of await Promise.all(flaws)) if (refusal) throw refusal;
  try {
    await tx.query(sql, [`[${encoded.join(',')}]`, wake ? wakeChannel(schema) : null]);
  } catch (error) {
    if ((error as { code?: unknown }).code !== UNDEFINED_TABLE) throw error;
    throw new Error(`The schema ${schema} has no outbox tables: run \`outbox migrate\` first`, { cause: error });
  }
  return [...ids];
}

const UNDEFINED_TABLE = '42P01';

function maxPayloadFromEnvironment(): number {
  const given = Number(process.env.OUTBOX_MAX_PAYLOAD_BYTES);
  return Number.isInteger(given) && given > 0 ? given : DEFAULT_MAX_PAYLOAD_BYTES;
}
