import { grouped, handlingOf } from './byEvent';
import type { Death, HandlerLine, History } from './history';

/** One entry into a handler, from its beginning to its end. */
export interface Entry {
  readonly eventId: string;
  readonly handler: string;
  readonly attempt: number;
  readonly pid: number;
  readonly from: number;
  /** Its last line, or the death of its process; Infinity when neither is known. */
  readonly to: number;
  /** `cut`: it failed because it was told to end. */
  readonly ended: 'end' | 'failed' | 'cut' | 'died' | 'nothing';
  /** What it threw, or why it was told to end. */
  readonly reason?: string | undefined;
}

/** Entries of each handling, in the order in which they began. */
export function entriesOf({ handlers, deaths }: History): ReadonlyMap<string, readonly Entry[]> {
  const ends = new Map(handlers.filter(({ kind }) => kind !== 'begin').map((line) => [line.run, line]));
  const begins = handlers.filter(({ kind }) => kind === 'begin');
  const entries = begins.map((begin) => entryOf(begin, ends.get(begin.run), deaths.get(begin.pid)));
  return grouped(
    entries.sort((a, b) => a.from - b.from),
    handlingOf,
  );
}

function entryOf(begin: HandlerLine, end: HandlerLine | undefined, death: Death | undefined): Entry {
  const { eventId, handler, attempt, pid, at: from } = begin;
  const common = { eventId, handler, attempt, pid, from };
  if (end) {
    const ended = end.kind === 'end' ? 'end' : end.aborted ? 'cut' : 'failed';
    return { ...common, to: end.at, ended, reason: end.reason };
  }
  if (death !== undefined) return { ...common, to: Math.max(from, death.at), ended: 'died' };
  return { ...common, to: Infinity, ended: 'nothing' };
}
