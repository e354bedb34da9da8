import type { Rule } from '../history';

const ENDS: ReadonlySet<string> = new Set(['done', 'dead_lettered']);

/** Once the world is at rest nothing is left half way: no row, claim, delivery, delivery run or message. */
export const left: Rule = ({ queue, ledger, deliveries, runs, unacknowledged }) => {
  const told = (eventId: string | undefined, text: string) => ({ rule: 'left', eventId, text });
  return [
    ...queue
      .filter(({ status }) => !ENDS.has(status))
      .map(({ eventId, status, reason }) => told(eventId, `is still ${status} (${reason ?? 'no reason'})`)),
    ...ledger
      .filter(({ status }) => status !== 'done')
      .map(({ eventId, handler, status }) => told(eventId, `${handler} is still ${status}`)),
    ...deliveries
      .filter(({ state }) => state === 'waiting')
      .map(({ eventId, handler, reason }) => told(eventId, `${handler} still waits (${reason ?? 'no reason'})`)),
    ...runs.map((eventId) => told(eventId, 'has a delivery run that is still running')),
    ...(unacknowledged > 0 ? [told(undefined, `${unacknowledged} messages are not acknowledged`)] : []),
  ];
};
