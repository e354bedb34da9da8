import type { Rule } from '../history';

/** A commit that PostgreSQL acknowledged is there, and a rollback is not: without it no other rule would mean anything. */
export const acknowledged: Rule = ({ business, producers }) => {
  const committed = new Set(business.map(({ eventId }) => eventId));
  return producers.flatMap(({ kind, ids }) => {
    if (kind === 'unknown') return [];
    const wanted = kind === 'acknowledged';
    return ids
      .filter((eventId) => committed.has(eventId) !== wanted)
      .map((eventId) => ({
        rule: 'acknowledged',
        eventId,
        text: `its transaction was ${kind}, and its business row is ${wanted ? 'not there' : 'there'}`,
      }));
  });
};
