import { expectedOf } from '../expected';
import type { Rule } from '../history';

/** Nothing dies before its attempts are spent, nothing is called done that cannot succeed, and no fault of a storm is a reason for the relay to give up. */
export const dead: Rule = ({ rules, business, queue, deliveries, ledger }) => {
  const doomed = new Set(business.filter(({ type }) => expectedOf(type).doomed).map(({ eventId }) => eventId));
  const letters = deliveries.filter(({ state }) => state === 'dead');
  const withLetter = new Set(letters.map(({ eventId }) => eventId));
  const told = (eventId: string, text: string) => ({ rule: 'dead', eventId, text });
  return [
    ...letters
      .filter(({ attempts }) => attempts < rules.maxAttempts)
      .map(({ eventId, handler, attempts, reason }) =>
        told(eventId, `${handler} died of ${attempts} attempts instead of ${rules.maxAttempts} (${reason ?? ''})`),
      ),
    ...ledger
      .filter(({ eventId, status }) => status === 'done' && doomed.has(eventId))
      .map(({ eventId, handler }) => told(eventId, `${handler} cannot succeed, and is done`)),
    ...queue
      .filter(({ eventId, status }) => status === 'dead_lettered' && !withLetter.has(eventId))
      .map(({ eventId, reason }) => told(eventId, `the relay gave it up (${reason ?? ''})`)),
  ];
};
