import { grouped, handlingOf } from '../byEvent';
import { expectedOf } from '../expected';
import type { Rule } from '../history';

/**
 * Nothing that was committed is lost: each handler of each event is done, or its dead letter is there; with backend
 * `nats` the event is in the stream. What a handler is said to have done, it wrote down that it did.
 */
export const lost: Rule = ({ rules, business, queue, ledger, deliveries, stream, handlers }) => {
  const done = new Set(ledger.filter(({ status }) => status === 'done').map(handlingOf));
  const dead = new Set(deliveries.filter(({ state }) => state === 'dead').map(handlingOf));
  const buried = new Set(queue.filter(({ status }) => status === 'dead_lettered').map(({ eventId }) => eventId));
  const ended = new Set(handlers.filter(({ kind }) => kind === 'end').map(handlingOf));
  const stored = grouped(stream, ({ eventId }) => eventId);
  return business.flatMap(({ eventId, type }) => {
    const told = (text: string) => ({ rule: 'lost', eventId, text });
    const missing = rules.backend === 'nats' && !stored.has(eventId) && !buried.has(eventId);
    return [
      ...(missing ? [told('is not in the stream')] : []),
      ...expectedOf(type).handlers.flatMap((handler) => {
        const key = handlingOf({ eventId, handler });
        if (done.has(key))
          return ended.has(key) ? [] : [told(`${handler} is done by the ledger, and never came to its end`)];
        // With backend `nats` a row that the relay gave up never reached a handler.
        return dead.has(key) || (rules.backend === 'nats' && buried.has(eventId))
          ? []
          : [told(`${handler} is neither done nor dead`)];
      }),
    ];
  });
};
