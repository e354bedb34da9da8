/**
 * For builds that are broken on purpose: changes the text of SQL statements on their way to PostgreSQL. The shipped code
 * knows nothing of it.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import pg from 'pg';

const told = new Set();

/** Says that the mutant has done its work: one that found nothing to change would prove nothing. */
export function mutated(what) {
  if (told.has(what)) return;
  told.add(what);
  appendFileSync(join(process.env.TORTURE_JOURNAL, '..', 'mutated'), `${what}\n`);
}

/** @param change gives back the text that is to be sent */
export function rewriteStatements(change) {
  if (!isMainThread) return;
  const { query } = pg.Client.prototype;
  const changed = new Map();
  const rewritten = (text) => {
    if (typeof text !== 'string') return text;
    if (!changed.has(text)) changed.set(text, change(text));
    if (changed.get(text) !== text) mutated('a statement');
    return changed.get(text);
  };
  pg.Client.prototype.query = function (config, ...others) {
    if (typeof config === 'string') return query.call(this, rewritten(config), ...others);
    if (typeof config?.submit !== 'function' && typeof config?.text === 'string')
      return query.call(this, { ...config, text: rewritten(config.text) }, ...others);
    return query.call(this, config, ...others);
  };
}
