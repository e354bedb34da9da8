import { grouped, handlingOf } from '../checker/byEvent';
import { TRANSACTIONAL } from '../checker/expected';
import type { HandlerLine, History } from '../checker/history';
import { waitsOf } from '../checker/waits';
import type { Strike } from '../diary';
import type { Outcome } from '../storm';
import { recoveries, type Recovery } from './recovery';

/** What a storm was like, in numbers. Times are milliseconds. */
export interface Figures {
  readonly backend: string;
  readonly seed: number;
  readonly seconds: number;
  readonly events: number;
  readonly handlings: number;
  readonly rolledBack: number;
  readonly deadLetters: number;
  /** Those that struck. */
  readonly faults: Readonly<Record<string, number>>;
  /** Those that did not come to their end, and why. */
  readonly failed: readonly { readonly fault: string; readonly why: string; readonly times: number }[];
  readonly workersEndedThemselves: number;
  readonly duplicatesInTheStream: number;
  readonly repeatedExternalEffects: number;
  readonly longestStallMs: number;
  /** From the last fault to the last handling. */
  readonly restMs: number;
  /** False: patience was over before everything had ended. */
  readonly rested: boolean;
  readonly waits: Waits;
  readonly recovery: readonly Recovery[];
  readonly rules: Readonly<Record<string, number>>;
  readonly violations: number;
  readonly verdict: Verdict;
}

/** `unproven`: nothing was violated, and there was too little of a storm, or patience was over before it could be judged. */
type Verdict = 'clean' | 'violated' | 'unproven';

/** Between an attempt and the next: how many there were, were judged, and had to last for the whole backoff. */
export interface Waits {
  readonly of: number;
  readonly judged: number;
  readonly whole: number;
}

export function figuresOf(outcome: Outcome, { seed, rules }: { seed: number; rules: readonly string[] }): Figures {
  const { history, strikes, violations, start, calm } = outcome;
  const ends = firstEnds(history);
  const struck = strikes.filter(({ failed }) => failed === undefined);
  const last = Math.max(calm, ...ends.map(({ at }) => at));
  return {
    backend: history.rules.backend,
    seed,
    seconds: Math.round((calm - start) / 1_000),
    events: history.business.length,
    handlings: ends.length,
    rolledBack: history.producers.filter(({ kind }) => kind === 'rolled back').flatMap(({ ids }) => ids).length,
    deadLetters: history.deliveries.filter(({ state }) => state === 'dead').length,
    faults: Object.fromEntries([...grouped(struck, ({ name }) => name)].map(([name, all]) => [name, all.length])),
    failed: failuresOf(strikes),
    workersEndedThemselves: outcome.ownEnds,
    duplicatesInTheStream: history.stream.length - new Set(history.stream.map(({ eventId }) => eventId)).size,
    repeatedExternalEffects: repeated(history),
    longestStallMs: longestStall(ends, start),
    restMs: Math.round(last - calm),
    rested: outcome.rested,
    waits: countWaits(history),
    recovery: recoveries(history, ends, strikes),
    rules: Object.fromEntries(rules.map((name) => [name, violations.filter(({ rule }) => rule === name).length])),
    violations: violations.length,
    verdict: violations.length > 0 ? 'violated' : isProof(outcome, struck.length, ends.length) ? 'clean' : 'unproven',
  };
}

/** What wrote nothing, handled nothing or struck nobody would be clean for want of anything to find. */
function isProof({ rested, history, strikes }: Outcome, struck: number, handlings: number): boolean {
  return rested && history.business.length > 0 && handlings > 0 && struck > 0 && 2 * struck >= strikes.length;
}

function failuresOf(strikes: readonly Strike[]): Figures['failed'] {
  const failed = strikes.flatMap(({ name, failed }) =>
    failed === undefined ? [] : [{ fault: name, why: failed.split('\n')[0] ?? '' }],
  );
  const alike = grouped(failed, ({ fault, why }) => `${fault} ${why}`);
  return [...alike.values()].flatMap((all) => (all[0] ? [{ ...all[0], times: all.length }] : []));
}

function countWaits(history: History): Waits {
  const waits = waitsOf(history);
  return {
    of: waits.length,
    judged: waits.filter(({ leastMs }) => leastMs > 0).length,
    whole: waits.filter(({ whole }) => whole).length,
  };
}

/** When each handling came to its end for the first time, in the order of time. */
function firstEnds({ handlers }: History): HandlerLine[] {
  const ends = grouped(
    handlers.filter(({ kind }) => kind === 'end'),
    handlingOf,
  );
  return [...ends.values()].flatMap((lines) => lines.slice(0, 1)).sort((a, b) => a.at - b.at);
}

/** External handlers that came to their end again, as their worker was lost before it could say so. */
function repeated({ handlers }: History): number {
  const ends = handlers.filter(({ kind, handler }) => kind === 'end' && !TRANSACTIONAL.has(handler));
  return ends.length - new Set(ends.map(handlingOf)).size;
}

function longestStall(ends: readonly HandlerLine[], start: number): number {
  const times = [start, ...ends.map(({ at }) => at)];
  return Math.round(Math.max(0, ...times.slice(1).map((at, index) => at - (times[index] ?? at))));
}
