import { log } from '@temporalio/workflow';
import { UUID } from '../event';
import { isStorableTime } from '../storableTime';
import type { DeadLetterFilter, ReemitRequest } from './messages';
import type { ReemitOrder } from './state';

/** What a `reemit` signal asks for; nothing usable is logged and ignored, whatever was sent. */
export function readReemit(input: unknown): ReemitOrder | undefined {
  const { ids, handler } = fieldsOf(input);
  if (!Array.isArray(ids)) {
    log.warn('A reemit signal was ignored: send {"ids": ["<event id>", …]}');
    return undefined;
  }
  const problem = handlerProblem(handler);
  if (problem) {
    log.warn(`A reemit signal was ignored: ${problem}`);
    return undefined;
  }
  const valid = ids.filter((id): id is string => typeof id === 'string' && UUID.test(id));
  if (valid.length < ids.length) {
    log.warn('A reemit signal held what is no event id; the others are taken', { ignored: ids.length - valid.length });
  }
  if (valid.length === 0) return undefined;
  return typeof handler === 'string' ? { ids: valid, handler } : { ids: valid };
}

/** What is wrong with a `reemit` update, whose caller is told; undefined when it can be carried out. */
export function reemitProblem(request: unknown): string | undefined {
  const { ids, handler } = fieldsOf(request);
  if (!Array.isArray(ids) || ids.some((id) => typeof id !== 'string')) return 'send {"ids": ["<event id>", …]}';
  return handlerProblem(handler);
}

function fieldsOf(request: unknown): { ids?: unknown; handler?: unknown } {
  return typeof request === 'object' && request !== null ? request : {};
}

/** An order that lost its filter would revive more than it was meant to. */
function handlerProblem(handler: unknown): string | undefined {
  return handler === undefined || handler === null ? undefined : filterProblem('handler', handler);
}

/** Only what is known: the request becomes the input of an activity. */
export function readReemitUpdate({ ids, handler }: ReemitRequest): ReemitRequest {
  return typeof handler === 'string' ? { ids, handler } : { ids };
}

/** What a `reemitAll` asks for. A filter that cannot be read must not become "all of them". */
export function readReemitAll(input: unknown): { filter: DeadLetterFilter } | { problem: string } {
  if (input === undefined || input === null) return { filter: {} };
  if (typeof input !== 'object' || Array.isArray(input))
    return { problem: 'send {} or a filter {"eventType", "handler", "companyId", "since"}' };
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
  if (!['eventType', 'handler', 'companyId', 'since'].includes(name))
    return `there is no filter ${JSON.stringify(name.slice(0, 60))}; use eventType, handler, companyId, since`;
  if (typeof value !== 'string') return `the filter ${name} must be text`;
  if (value.length > 128) return `the filter ${name} is longer than any value it could find`;
  // PostgreSQL refuses it, and the step would be tried for ever.
  if (value.includes('\0')) return `the filter ${name} holds a NUL`;
  if (name === 'companyId' && !UUID.test(value)) return 'the filter companyId must be a UUID';
  if (name === 'since' && !isStorableTime(Date.parse(value))) return 'the filter since must be a time in ISO 8601';
  return undefined;
}
