import { log } from '@temporalio/workflow';
import { UUID } from '../event';
import type { DeadLetterFilter } from './messages';
import type { ReemitOrder } from './state';

/** What a `reemit` signal asks for; nothing usable is logged and ignored, whatever was sent. */
export function readReemit(input: unknown): ReemitOrder | undefined {
  const ids: unknown = typeof input === 'object' && input !== null ? (input as { ids?: unknown }).ids : undefined;
  const given: unknown[] = Array.isArray(ids) ? ids : [];
  const valid = given.filter((id): id is string => typeof id === 'string' && UUID.test(id));
  if (!Array.isArray(ids)) {
    log.warn('A reemit signal was ignored: send {"ids": ["<event id>", …]}');
  } else if (valid.length < given.length) {
    log.warn('A reemit signal held what is no event id; the others are taken', {
      ignored: given.length - valid.length,
    });
  }
  return valid.length > 0 ? { ids: valid } : undefined;
}

/** What a `reemitAll` asks for. A filter that cannot be read must not become "all of them". */
export function readReemitAll(input: unknown): { filter: DeadLetterFilter } | { problem: string } {
  if (input === undefined || input === null) return { filter: {} };
  if (typeof input !== 'object' || Array.isArray(input))
    return { problem: 'send {} or a filter {"eventType", "companyId", "since"}' };
  const filter: Record<string, string> = {};
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || value === null) continue;
    const problem = filterProblem(name, value);
    if (problem) return { problem };
    filter[name] = value as string;
  }
  return { filter };
}

function filterProblem(name: string, value: unknown): string | undefined {
  if (!['eventType', 'companyId', 'since'].includes(name))
    return `there is no filter ${JSON.stringify(name.slice(0, 60))}; use eventType, companyId, since`;
  if (typeof value !== 'string') return `the filter ${name} must be text`;
  if (value.length > 128) return `the filter ${name} is longer than any value it could find`;
  if (name === 'companyId' && !UUID.test(value)) return 'the filter companyId must be a UUID';
  if (name === 'since' && Number.isNaN(Date.parse(value))) return 'the filter since must be a time in ISO 8601';
  return undefined;
}
