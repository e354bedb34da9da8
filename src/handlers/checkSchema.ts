import type { StandardSchemaV1 } from '@standard-schema/spec';
import { failureName } from './failureText';
import { isThenable } from './isThenable';
import { storable } from './storable';
import { withoutValues } from './withoutValues';

export type Checked = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string };

/** Enough to find what is wrong; a list of a thousand items with the same flaw says no more. */
const MAX_ISSUES = 3;
const MAX_REASON = 300;
const MAX_PATH = 100;

/**
 * Runs a validator over a payload. Never throws or rejects, whatever the validator does; a promise only when the
 * validator gave one, as this runs for every event. The reason names paths, and no value of the payload.
 */
export function checkSchema(schema: StandardSchemaV1, payload: unknown): Checked | Promise<Checked> {
  const threw = (error: unknown) => refused(`its validator threw ${failureName(error)}`);
  try {
    const result = schema['~standard'].validate(payload);
    if (!isThenable(result)) return read(result, payload);
    return Promise.resolve(result)
      .then((settled) => read(settled, payload))
      .catch(threw);
  } catch (error) {
    return threw(error);
  }
}

function read(result: unknown, payload: unknown): Checked {
  if (typeof result !== 'object' || result === null) return refused('its validator gave no result');
  const { issues, value } = result as { issues?: unknown; value?: unknown };
  if (!issues) return { ok: true, value };
  const all: unknown[] = Array.isArray(issues) ? issues : [issues];
  if (all.length === 0) return refused('its validator gave no reason');
  const told = all.slice(0, MAX_ISSUES).map((issue) => describe(issue, payload));
  const more = all.length > MAX_ISSUES ? `; and ${all.length - MAX_ISSUES} more` : '';
  return { ok: false, reason: storable(told.join('; '), MAX_REASON - more.length) + more };
}

function describe(issue: unknown, payload: unknown): string {
  const { path, message } = (issue ?? {}) as { path?: unknown; message?: unknown };
  const text = typeof message === 'string' ? withoutValues(message, payload) : '';
  return `${storable(pathText(path), MAX_PATH)}: ${text || 'is invalid'}`;
}

function pathText(path: unknown): string {
  if (!Array.isArray(path) || path.length === 0) return 'the payload';
  const keys = path.map((segment: unknown) =>
    typeof segment === 'object' && segment !== null ? (segment as { key?: unknown }).key : segment,
  );
  return keys.map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at > 0 ? '.' : ''}${String(key)}`)).join('');
}

function refused(reason: string): Checked {
  return { ok: false, reason: storable(reason, MAX_REASON) };
}
