import { grouped } from '../byEvent';
import type { Rule } from '../history';

/** A storm is shorter than the duplicate window: each event is in the stream once. */
export const storedTwice: Rule = ({ stream }) =>
  [...grouped(stream, ({ eventId }) => eventId)]
    .filter(([, messages]) => messages.length > 1)
    .map(([eventId, messages]) => ({
      rule: 'stored twice',
      eventId,
      text: `is in the stream ${messages.length} times, at ${messages.map(({ sequence }) => sequence).join(', ')}`,
    }));
