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
const ENCODED = 'with % in user and password written as %25';
export const postgresUrl = z.string().refine((text) => /^postgres(ql)?:\/\//.test(text) && isUrl(text), {
  error: `must be a URL such as postgres://user@host:5432/database, ${ENCODED}`,
});
export const natsUrls = z
  .string()
  .refine(
    (text) => text.split(',').every((part) => isUrl(part.includes('://') ? part.trim() : `nats://${part.trim()}`)),
    { error: `must be a URL such as nats://host:4222, or several with commas between them, ${ENCODED}` },
  );
export const file = z.string().refine((path) => existsSync(path), { error: 'names a file that does not exist' });
/** As RFC 3986 has it, and short enough for the room that is kept for headers. */
export const uriReference = z
  .string()
  .refine((text) => encodeAttribute(text).length <= 256, 'must have at most 256 characters, of which % counts as 3')
  .regex(
    /^([a-z][a-z0-9+.-]*:|(?![^/?#]*:))([\w.~!$&'()*+,;=:@/?[\]-]|%[0-9a-f]{2})+(#([\w.~!$&'()*+,;=:@/?-]|%[0-9a-f]{2})*)?$/i,
    'must be a URI reference such as https://orders.example.com/outbox, urn:example:orders or /orders',
  );
export const token = (what: string) => z.string().regex(NAME, `${what} may hold letters, digits, _ and - only`);
