import { z } from 'zod';

/*
 * Fields that events and HTTP bodies share. What a request may hold is then what an event may hold: a request is refused
 * with a sentence at the door, and never fails later where its event is written. Limits of text are part of the pattern,
 * because JSON Schema counts characters and `max` counts UTF-16 units.
 */

/** PostgreSQL stores neither NUL nor half of a surrogate pair. */
const text = (min: number, max: number) =>
  z
    .string()
    .regex(new RegExp(`^[^\\0\\p{Cs}]{${min},${max}}$`, 'u'))
    .describe(`text of ${min} to ${max} characters, none of them NUL or half of a surrogate pair`);

/** Ids are compared as text too, in locks and in the ids of activities, so there is one spelling of each. */
export const id = z
  .uuid()
  .regex(/^[^A-Z]*$/)
  .describe('a UUID in lower case');
/** As much as a column holds: others send theirs too. */
export const version = z.int().positive().max(2_147_483_647);
/** PostgreSQL knows no year 0. */
export const date = z.iso
  .date()
  .regex(/^(?!0000)/)
  .describe('a day that exists, as YYYY-MM-DD');
/** Years that stay within 4 digits in any time zone. */
export const instant = z.iso
  .datetime({ offset: true })
  .regex(/^[12]/)
  .describe('a time with its offset, as 2024-02-01T20:15:00Z, of the years 1000 to 2999');
/** An aggregate id may have 1,024 characters, and some are URIs. */
export const uri = z
  .url({ protocol: /^https?$/ })
  .regex(/^https?:\/\/[\x21-\x7e]{1,990}$/)
  // JSON Schema's own format for URIs lets through what is no URL, such as a port of 99999.
  .meta({ format: 'http-url', description: 'an http or https URL of at most 1,000 characters' });
export const rating = z.int().min(1).max(10);
export const comment = text(0, 5_000).nullable();
export const year = z.int().min(1888).max(9999);
/** The metadata provider's number of a film: the same film has the same on every instance. */
export const filmNumber = z.int().positive().max(2_147_483_647);
export const filmTitle = text(1, 500);
export const personName = text(1, 500);
export const genre = text(1, 500);
export const distributor = text(1, 500);
export const displayName = text(1, 100);
export const searchWords = text(1, 200);
/** A media server's own id of an event. */
export const externalId = text(1, 200);
/** The kind of media server. */
export const source = z
  .string()
  .regex(/^[a-z0-9_-]{1,32}$/)
  .describe('1 to 32 of a-z, 0-9, _ and -');
export const userName = z
  .string()
  .regex(/^[a-z0-9_]{1,32}$/, 'may hold a-z, 0-9 and _, 1 to 32 of them')
  .describe('1 to 32 of a-z, 0-9 and _');
