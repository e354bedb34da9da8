import { grouped, handlingOf } from '../byEvent';
import { commitTimes, KNOWN_WITHIN_MS } from '../commitTimes';
import type { History, Rule } from '../history';
import { isDisturbed, type Span } from '../troubles';

/** Of what two clocks of one machine may differ by. */
const GRANULARITY_MS = 100;
const UNDER_WAY_MS = 5_000;

/**
 * From the confirmation of a pause until somebody asks for the resume nothing is published: with backend `nats` nothing is
 * stored in the stream; with backend `db`, where to publish is to hand to the handlers, none is entered for the first time
 * (what has failed or waits belongs to delivery runs, which no pause stops).
 *
 * What was committed before the pause may have been in the hands of a worker that stood still or was cut off at that
 * moment, or under way to a broker that was: it then arrives later, and is no second copy. What came later may not.
 */
export const paused: Rule = (history) => {
  const committed = commitTimes(history);
  return pausesOf(history).flatMap((pause) => {
    const around = { from: pause.from - lingers(history), to: pause.from };
    const troubled = isDisturbed(history, around);
    return published(history)
      .filter(({ at }) => at > pause.from + GRANULARITY_MS && at < pause.to - GRANULARITY_MS)
      .filter(({ eventId }) => !troubled || (committed.get(eventId) ?? -Infinity) > pause.from + KNOWN_WITHIN_MS)
      .map(({ eventId, at, what }) => ({
        rule: 'paused',
        eventId,
        text: `${what} ${Math.round(at - pause.from)} ms after a pause was confirmed`,
      }));
  });
};

/**
 * How long before the confirmation a worker may have been lost to the others with rows in its hands. What it still sends
 * leaves it at once when it goes on; an event that another met in its hands is put off until its lease is over.
 */
function lingers({ rules }: History): number {
  return rules.backend === 'nats' ? UNDER_WAY_MS : 2 * rules.ledgerLeaseMs;
}

/** From each confirmation to the first resume that was asked for, whether it was confirmed or not. */
export function pausesOf({ operators }: Pick<History, 'operators'>): Span[] {
  return operators
    .filter(({ verb, code }) => verb === 'pause' && code === 0)
    .map(({ from, to }) => ({
      from: to,
      to: operators.find((other) => other.verb === 'resume' && other.from > from)?.from ?? Infinity,
    }))
    .filter(({ from, to }) => to > from);
}

interface Published {
  readonly eventId: string;
  readonly at: number;
  readonly what: string;
}

function published({ rules, stream, handlers }: History): Published[] {
  if (rules.backend === 'nats') return stream.map(({ eventId, at }) => ({ eventId, at, what: 'was stored' }));
  const begins = grouped(
    handlers.filter(({ kind }) => kind === 'begin'),
    handlingOf,
  );
  return [...begins.values()].flatMap(([first]) =>
    first?.attempt === 1 ? [{ eventId: first.eventId, at: first.at, what: `${first.handler} was entered` }] : [],
  );
}
