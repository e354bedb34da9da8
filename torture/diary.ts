import type { Death, Outage } from './checker/history';
import { now } from './clock';

/** A span on the shared clock, in milliseconds. */
export interface Span {
  readonly from: number;
  to: number;
}

/** A fault as it struck. `to`: when it was over, and what it took away answered again. */
export interface Strike extends Span {
  readonly name: string;
  readonly what: string;
  failed?: string;
}

/** What was done to the world, written down by who did it. */
export class Diary {
  readonly strikes: Strike[] = [];
  /** How each process ended. */
  readonly deaths = new Map<number, Death>();
  /** Whose process each was. */
  readonly names = new Map<number, string>();
  readonly freezes: (Span & { readonly pid: number })[] = [];
  readonly outages: (Span & Outage)[] = [];

  /** The first word counts: a kill is told before it is done. */
  died(pid: number, killed: boolean): void {
    if (!this.deaths.has(pid)) this.deaths.set(pid, { at: now(), killed });
  }

  /** Runs `during` and writes down how long it took, also when it fails. */
  async span<S extends Span>(list: S[], span: Omit<S, 'from' | 'to'>, during: () => Promise<void>): Promise<S> {
    const entry = { ...span, from: now(), to: Infinity } as S;
    list.push(entry);
    try {
      await during();
    } finally {
      entry.to = now();
    }
    return entry;
  }
}
