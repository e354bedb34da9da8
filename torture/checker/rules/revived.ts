import { grouped, handlingOf } from '../byEvent';
import type { Rule } from '../history';

/**
 * A re-emit of all dead letters that was confirmed hands back each that stood when it began: its handler is entered anew.
 * That it then ends done or dead is what `lost` and `left` are about; that its numbers begin anew, `schedule`.
 */
export const revived: Rule = ({ operators, handlers }) => {
  const begins = grouped(
    handlers.filter(({ kind }) => kind === 'begin'),
    handlingOf,
  );
  return operators
    .filter(({ verb, code }) => verb === 'reemit' && code === 0)
    .flatMap(({ dead = [], from }) =>
      dead
        .filter((letter) => !begins.get(handlingOf(letter))?.some(({ at }) => at > from))
        .map(({ eventId, handler }) => ({
          rule: 'revived',
          eventId,
          text: `${handler} was dead when all dead letters were handed back, and was never entered again`,
        })),
    );
};
