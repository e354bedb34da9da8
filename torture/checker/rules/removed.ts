import type { Rule } from '../history';

/** What an operator of a storm lets go, in milliseconds: `outbox prune --only done --older-than 1s`. */
const OLDER_THAN_MS = 1_000;
/** Of what two clocks of one machine may differ by. */
const GRANULARITY_MS = 100;

/** Rows go from the outbox only when an operator prunes, and only those that were done, and wait for no handler. */
export const removed: Rule = ({ business, queue, removed: rows, operators }) => {
  const known = new Set([...queue, ...rows].map(({ eventId }) => eventId));
  const prunes = operators
    .filter(({ verb }) => verb === 'prune')
    // What the command did not see through, its session may: nobody knows until when.
    .map(({ from, to, code }) => ({ from: from - GRANULARITY_MS, to: code === 0 ? to + GRANULARITY_MS : Infinity }));
  const told = (eventId: string, text: string) => ({ rule: 'removed', eventId, text });
  return [
    ...business
      .filter(({ eventId }) => !known.has(eventId))
      .map(({ eventId }) => told(eventId, 'is not in the outbox, and nobody saw it go')),
    ...rows.flatMap(({ eventId, status, doneForMs, open, at }) => [
      ...(status !== 'done' ? [told(eventId, `was removed while it was ${status}`)] : []),
      ...(status === 'done' && (doneForMs ?? 0) < OLDER_THAN_MS
        ? [told(eventId, `was removed when it had been done for ${Math.round(doneForMs ?? 0)} ms`)]
        : []),
      ...(open > 0 ? [told(eventId, `was removed while ${open} of its handlers waited or were dead`)] : []),
      ...(prunes.every(({ from, to }) => at < from || at > to)
        ? [told(eventId, 'was removed when nobody had asked for it')]
        : []),
    ]),
  ];
};
