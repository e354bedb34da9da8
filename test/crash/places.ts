import type { NewEvent } from '../../src/event';
import type { Case } from './arena';
import type { Fault } from './world';

/** Statements, publishes and starts as they are seen from outside, each followed by its values. */
export const PLACES = {
  claim: (handler: string) => `WITH ORDINALITY AS g[\\s\\S]*"${handler}"`,
  finish: (handler: string) => `SET status = 'done', processed_at[\\s\\S]*unnest[\\s\\S]*"${handler}"`,
  commit: '^COMMIT ',
  mark: `SET status = 'done', published_at`,
  acknowledgement: '\\+ACK',
  pull: 'CONSUMER\\.MSG\\.NEXT',
  /** A receive drains its pull before it returns. */
  inbox: '^_INBOX',
  working: '\\+WPI',
  givenBack: '-NAK',
  join: '^consumer',
  handOver: (handler: string) => `INTO \\S+deliveries AS d[\\s\\S]*${handler}`,
  start: (handler: string) => `deliverEvent .*"handler":"${handler}"`,
  retry: `SET status = 'retrying'`,
  settleRow: 'CASE WHEN dead\\.handler IS NULL',
  beginAttempt: (handler: string) => `WITH waiting AS MATERIALIZED[\\s\\S]*"${handler}"`,
  finishAttempt: (handler: string) => `WITH finished AS[\\s\\S]*"${handler}"`,
  endAttempt: (handler: string) => `written AS[\\s\\S]*"${handler}"`,
} as const;

/** The two sides of a place. */
export function around(
  name: string,
  kind: Fault['kind'],
  match: string,
  events: readonly NewEvent[],
  gate?: string,
): Case[] {
  return (['before', 'after'] as const).map((when) => ({
    name: `killed ${when} ${name}`,
    fault: { kind, match, when },
    events,
    ...(gate !== undefined && { gate }),
  }));
}

/** Begin, middle and end of the second entry of a handler; by then the first may be through, or not. */
export function inside(handler: string, attempt: number, nth: number, events: readonly NewEvent[]): Case[] {
  return ['begin', 'middle', 'end'].map((place) => ({
    name: `killed in the handler, at its ${place}`,
    fault: { kind: 'handler', match: `^${handler} ${place} ${attempt}$`, when: 'before', nth },
    events,
  }));
}
