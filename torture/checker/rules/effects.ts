import { grouped, handlingOf } from '../byEvent';
import { expectedOf, TRANSACTIONAL } from '../expected';
import type { Rule } from '../history';

/**
 * A transactional effect, and what follows from it, is there exactly once when the ledger says done, and else not at all;
 * of a handler that has no business with the event there is none.
 */
export const effects: Rule = ({ business, ledger, effects: rows }) => {
  const done = new Set(ledger.filter(({ status }) => status === 'done').map(handlingOf));
  const made = grouped(rows, ({ eventId }) => eventId);
  const follows = grouped(business, ({ cause }) => cause ?? '');
  return business.flatMap(({ eventId, type }) => {
    const expected = expectedOf(type);
    const transactional = expected.handlers.filter((handler) => TRANSACTIONAL.has(handler));
    const found = grouped(made.get(eventId) ?? [], ({ handler }) => handler);
    const told = (text: string) => ({ rule: 'effects', eventId, text });
    const strangers = [...found.keys()].filter((handler) => !transactional.includes(handler));
    return [
      ...strangers.map((handler) => told(`${handler} has an effect, and is no transactional handler of a ${type}`)),
      ...transactional.flatMap((handler) => {
        const wanted = done.has(handlingOf({ eventId, handler })) ? 1 : 0;
        const count = found.get(handler)?.length ?? 0;
        const followed = follows.get(eventId)?.length ?? 0;
        const wantedFollows = wanted * (expected.follows ?? 0);
        return [
          ...(count !== wanted ? [told(`${handler} has ${count} effects instead of ${wanted}`)] : []),
          ...(followed !== wantedFollows
            ? [told(`${followed} events follow from it instead of ${wantedFollows}`)]
            : []),
        ];
      }),
    ];
  });
};
