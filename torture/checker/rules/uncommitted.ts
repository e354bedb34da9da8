import type { History, Rule } from '../history';

/** Nothing that was not committed is seen anywhere, in particular nothing that was rolled back. */
export const uncommitted: Rule = (history) => {
  const committed = new Set(history.business.map(({ eventId }) => eventId));
  const rolledBack = new Set(
    history.producers.filter(({ kind }) => kind === 'rolled back').flatMap(({ ids }) => [...ids]),
  );
  const told = new Set<string>();
  return places(history).flatMap(({ place, eventId }) => {
    if (committed.has(eventId) || told.has(`${place} ${eventId}`)) return [];
    told.add(`${place} ${eventId}`);
    const why = rolledBack.has(eventId) ? 'was rolled back' : 'was never committed';
    return [{ rule: 'uncommitted', eventId, text: `${why}, and is seen in ${place}` }];
  });
};

function places({ queue, ledger, deliveries, effects, stream, handlers }: History) {
  const seen = (place: string, rows: readonly { readonly eventId: string }[]) =>
    rows.map(({ eventId }) => ({ place, eventId }));
  return [
    ...seen('the outbox', queue),
    ...seen('the ledger', ledger),
    ...seen('the deliveries', deliveries),
    ...seen('the effects', effects),
    ...seen('the stream', stream),
    ...seen('a handler', handlers),
  ];
}
