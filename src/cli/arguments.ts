import { InvalidArgumentError } from 'commander';
import { UUID } from '../event';
import { AGE_WANTED, readAge } from '../retention/age';
import { KINDS, type Kind } from '../retention/policy';

const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/;
/** PostgreSQL's `integer`, which LIMIT and the like are given as. */
const MAX_INTEGER = 2_147_483_647;

/** A whole number from 1. */
export function positive(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > MAX_INTEGER) {
    throw new InvalidArgumentError(`Give a whole number from 1 to ${MAX_INTEGER}.`);
  }
  return value;
}

export function uuid(text: string): string {
  if (!UUID.test(text)) throw new InvalidArgumentError('Give a UUID.');
  return text.toLowerCase();
}

/** ISO 8601. Without a zone it is UTC: a command must not mean another time on another machine. */
export function time(text: string): string {
  const hasZone = /(Z|[+-]\d{2}:?\d{2})$/.test(text) || !text.includes('T');
  const read = TIME.test(text) ? new Date(hasZone ? text : `${text}Z`) : undefined;
  if (!read || Number.isNaN(read.getTime())) {
    throw new InvalidArgumentError('Give a time as ISO 8601, such as 2026-07-01 or 2026-07-01T08:30:00Z.');
  }
  return read.toISOString();
}

/** @returns milliseconds */
export function age(text: string): number {
  const ms = readAge(text);
  if (ms === undefined) throw new InvalidArgumentError(`Give ${AGE_WANTED}.`);
  return ms;
}

/** In the order in which they are removed, whatever the order given. */
export function kinds(text: string): Kind[] {
  const given = text.split(',').map((part) => part.trim());
  if (given.some((part) => !KINDS.includes(part as Kind)))
    throw new InvalidArgumentError(`Give one or several of ${KINDS.join(', ')}, with commas between them.`);
  return KINDS.filter((kind) => given.includes(kind));
}
