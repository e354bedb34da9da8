import { grouped, handlingOf } from '../byEvent';
import { expectedOf, TRANSACTIONAL } from '../expected';
import type { Rule } from '../history';

/** A transactional effect, and what follows from it, is there exactly once when the ledger says done, and else not at all. */
export const effects: Rule = ({ business, ledger, effects: rows }) => {
  const done = new Set(ledger.filter(({ status }) => status === 'done').map(handlingOf));
  const made = grouped(rows, handlingOf);
  const follows = grouped(business, ({ cause }) => cause ?? '');
  return business.flatMap(({ eventId, type }) => {
    const expected = expectedOf(type);
    return expected.handlers
      .filter((handler) => TRANSACTIONAL.has(handler))
      .flatMap((handler) => {
        const key = handlingOf({ eventId, handler });
        const wanted = done.has(key) ? 1 : 0;
        const found = made.get(key)?.length ?? 0;
        const followed = follows.get(eventId)?.length ?? 0;
        const wantedFollows = wanted * (expected.follows ?? 0);
        return [
          ...(found !== wanted ? [`${handler} has ${found} effects instead of ${wanted}`] : []),
          ...(followed !== wantedFollows ? [`${followed} events follow from it instead of ${wantedFollows}`] : []),
        ].map((text) => ({ rule: 'effects', eventId, text }));
      });
  });
};
