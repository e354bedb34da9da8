import { storyOf } from '../checker/story';
import type { Outcome } from '../storm';

/** Whole stories are long, and the first few tell what is wrong. */
const STORIES = 10;
const TOLD = 100;

/** Every violation, and all that is known of the events concerned. */
export function storiesOf({ violations, history, strikes, start }: Outcome): string {
  const ids = [...new Set(violations.flatMap(({ eventId }) => (eventId === undefined ? [] : [eventId])))];
  const told = violations
    .slice(0, TOLD)
    .map(({ rule, eventId, text }) => `${rule}: ${eventId === undefined ? '' : `${eventId} `}${text}`);
  const more = violations.length > TOLD ? [`… and ${violations.length - TOLD} more`] : [];
  return [
    ...told,
    ...more,
    ...ids.slice(0, STORIES).flatMap((id) => ['', ...storyOf(id, history, strikes, start)]),
  ].join('\n');
}
