import { isStorableTime } from '../storableTime';
import type { DeadLetterFilter } from '../workflows/messages';

export interface DeadLetterOptions {
  /** Default: OUTBOX_SCHEMA, else `public`. */
  readonly schema?: string;
}

/** The values of `MATCHES`, in its order. */
export function filterValues(filter: DeadLetterFilter): (string | number | null)[] {
  return [
    filter.eventType ?? null,
    filter.companyId ?? null,
    filter.since === undefined ? null : secondsOf(filter.since),
    filter.handler ?? null,
  ];
}

/** Both tables have these columns. The filter of handlers, $4, has one of them only. */
export const MATCHES = `($1::text IS NULL OR event_type = $1) AND ($2::uuid IS NULL OR company_id = $2)
     AND ($3::float8 IS NULL OR failed_at >= to_timestamp($3))`;

/**
 * Tells the rows of `event_queue` that the relay gave up from those whose handlers died, which are listed by delivery.
 * A scalar, so that it stays a look at one index entry for each row that is read, and never becomes a join of everything;
 * and IS NOT TRUE, as the planner believes that IS NULL leaves next to nothing, and would read and sort all that is dead.
 */
export const GIVEN_UP_BY_RELAY = `(SELECT true FROM :schema.deliveries d
            WHERE d.event_id = q.event_id AND d.state <> 'skipped' LIMIT 1) IS NOT TRUE`;

/** Read here and not by PostgreSQL, which knows other spellings, and would take one without a zone for its own. */
function secondsOf(since: string): number {
  const ms = Date.parse(since);
  if (!isStorableTime(ms)) throw new RangeError(`since ${JSON.stringify(since)} is no time; write it in ISO 8601`);
  return ms / 1_000;
}
