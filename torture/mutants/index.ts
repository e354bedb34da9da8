import { join } from 'node:path';
import type { Backend } from '../world/world';

/** What a build that is broken on purpose is thrown into, and the unbroken one as well. */
export interface Directed {
  readonly faults: readonly string[];
  readonly weights: Readonly<Record<string, number>>;
  readonly rate: number;
  readonly lastsMs: number;
}

/** Only what such builds fail in: workers that die at work, ones that stand still, and commits that come late. */
export const DIRECTED: Readonly<Record<Backend, Directed>> = {
  db: {
    faults: ['worker-kill', 'worker-block', 'transaction-long'],
    weights: { Slow: 20, Flaky: 4, Doomed: 0 },
    rate: 10,
    lastsMs: 25_000,
  },
  nats: {
    faults: ['worker-kill', 'transaction-long'],
    weights: { Slow: 20, Flaky: 4, Doomed: 0 },
    rate: 10,
    lastsMs: 15_000,
  },
};

export interface Mutant {
  readonly backend: Backend;
  /** What it does, in a few words. */
  readonly broken: string;
  /** Of the checker, each enough: what the mutant is about, and not only that the storm did not come to rest. */
  readonly rules: readonly string[];
}

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  'mark-without-token': { backend: 'db', broken: 'marking names no claim token', rules: ['lost'] },
  'ledger-without-owner': {
    backend: 'db',
    broken: 'the ledger is finished without naming the owner of the claim',
    rules: ['effects'],
  },
  'claim-by-high-water-mark': {
    backend: 'db',
    broken: 'rows are claimed above the highest id that is through',
    rules: ['lost'],
  },
  'ack-before-hand-over': { backend: 'nats', broken: 'a message is acknowledged when it arrives', rules: ['lost'] },
  'publish-without-id': {
    backend: 'nats',
    broken: 'a message is published without the id of its event',
    rules: ['uncommitted'],
  },
};

/** Loaded into each worker. */
export const preloadOf = (mutant: string) => join(__dirname, `${mutant}.mjs`);
