import { existsSync } from 'node:fs';
import { z } from 'zod';
import { encodeAttribute } from '../broker/cloudEvent';
import { NAME } from '../event';

/* The kinds of values that a variable may have. Each says in a sentence what would have been right. */

const whole = (byDefault: number, min: number, max: number, unit: string) => {
  const wanted = `must be a whole number${unit} from ${min} to ${max}`;
  return z.coerce.number(wanted).int(wanted).min(min, wanted).max(max, wanted).default(byDefault);
};
export const milliseconds = (byDefault: number, min = 1, max = 2_147_483_647) =>
  whole(byDefault, min, max, ' of milliseconds');
export const count = (byDefault: number, min = 1, max = 1_000_000_000) => whole(byDefault, min, max, '');
/** How long something is kept; a hundred years at most. Null: for ever. */
export const kept = (byDefault: string) =>
  z
    .string()
    .default(byDefault)
    .transform((text, context) => {
      if (text === 'never') return null;
      const ms = Number(text);
      if (Number.isInteger(ms) && ms >= 1_000 && ms <= 3_153_600_000_000) return ms;
      context.addIssue({
        code: 'custom',
        message: 'must be `never`, or a whole number of milliseconds from 1000 to 3153600000000',
      });
      return z.NEVER;
    });
export const onOff = z.enum(['on', 'off']).default('on');
/** Its parts are decoded where a connection is made, whose failure would name neither the variable nor the cause. */
const isUrl = (text: string) => {
  if (!URL.canParse(text)) return false;
  const { username, password, hostname, pathname } = new URL(text);
  try {
    [username, password, hostname, pathname].forEach(decodeURIComponent);
    return true;
  } catch {
    return false;
  }
};
/** Of a list of several nothing but blanks between two commas is left out, as the client's setting does. */
const isNatsUrls = (text: string) => {
  const urls = text.split(',').flatMap((part) => part.trim() || []);
  const full = urls.map((url) => (url.includes('://') ? url : `nats://${url}`));
  return full.length > 0 && full.every((url) => isUrl(url) && new URL(url).hostname !== '');
};
/** The client takes a `port` among the parameters as it is, and would connect to the port NaN. */
const hasPort = (text: string) => {
  const port = (URL.canParse(text) && new URL(text).searchParams.get('port')) || '5432';
  return /^\d{1,5}$/.test(port) && Number(port) > 0 && Number(port) < 65_536;
};
const ENCODED = 'with % in user and password written as %25';
export const postgresUrl = z
  .string()
  .refine((text) => /^postgres(ql)?:\/\//.test(text) && isUrl(text), {
    error: `must be a URL such as postgres://user@host:5432/database, ${ENCODED}`,
  })
  .refine(hasPort, { error: 'its parameter `port` must be a whole number from 1 to 65535' });
export const natsUrls = z.string().refine(isNatsUrls, {
  error: `must be a URL such as nats://host:4222, or several with commas between them, ${ENCODED}`,
});
export const file = z.string().refine((path) => existsSync(path), { error: 'names a file that does not exist' });
/** As RFC 3986 has it, and short enough for the room that is kept for headers. */
export const uriReference = z
  .string()
  .refine((text) => encodeAttribute(text).length <= 256, 'must have at most 256 characters, of which % counts as 3')
  .regex(
    /^([a-z][a-z0-9+.-]*:|(?![^/?#]*:))([\w.~!$&'()*+,;=:@/?[\]-]|%[0-9a-f]{2})+(#([\w.~!$&'()*+,;=:@/?-]|%[0-9a-f]{2})*)?$/i,
    'must be a URI reference such as https://orders.example.com/outbox, urn:example:orders or /orders',
  );
/**
 * Workers have queues below it, whose names go to the consumer by a signal. One that Temporal refuses would fail the
 * consumer's workflow task for ever, so it ignores those, and whoever had such a name would never receive.
 */
export const taskQueue = z
  .string()
  .refine(
    (text) => /^(?!\/).{1,200}$/.test(text) && !/\p{Cc}/u.test(text) && text.isWellFormed(),
    'a task queue may hold up to 200 characters, but no control characters or line breaks, and must not begin with /',
  );
export const token = (what: string) => z.string().regex(NAME, `${what} may hold letters, digits, _ and - only`);
