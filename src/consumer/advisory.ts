/** What the broker says of a message that it delivers no more. */
export interface Advisory {
  readonly sequence: number;
  readonly deliveries: number;
}

/** As many as the column of a dead letter holds: a larger number would fail its statement, at this look and at each later one. */
const MOST_DELIVERIES = 2_147_483_647;

/** Anybody may publish to the subject, and an operator's stream may hold other things: then undefined. Never throws. */
export function readAdvisory(body: Uint8Array): Advisory | undefined {
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
  if (typeof read !== 'object' || read === null) return undefined;
  const { stream_seq: sequence, deliveries } = read as { stream_seq?: unknown; deliveries?: unknown };
  if (typeof sequence !== 'number' || !Number.isSafeInteger(sequence) || sequence < 1) return undefined;
  const count = typeof deliveries === 'number' && deliveries >= 1 ? Math.floor(deliveries) : 1;
  return { sequence, deliveries: Math.min(count, MOST_DELIVERIES) };
}
