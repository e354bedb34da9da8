import { join } from 'node:path';
import type { Backend } from '../world/world';

export interface Mutant {
  readonly backend: Backend;
  /** What it does, in a few words. */
  readonly broken: string;
  /** What shows it. */
  readonly fault: string;
  /** Default 3. With one, every kill meets the one that has something in its hands. */
  readonly workers?: 1;
  /** Of the checker, each enough: what the mutant is about, and not only that the storm did not come to rest. */
  readonly rules: readonly string[];
}

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  'mark-without-token': {
    backend: 'db',
    broken: 'marking names no claim token',
    fault: 'worker-kill',
    workers: 1,
    rules: ['lost'],
  },
  'ledger-without-owner': {
    backend: 'db',
    broken: 'the ledger is finished without naming the owner of the claim',
    fault: 'worker-block',
    rules: ['effects'],
  },
  'claim-by-high-water-mark': {
    backend: 'db',
    broken: 'rows are claimed above the highest id that is through',
    fault: 'transaction-long',
    rules: ['lost'],
  },
  'ack-before-hand-over': {
    backend: 'nats',
    broken: 'a message is acknowledged when it arrives',
    fault: 'worker-kill',
    workers: 1,
    rules: ['lost'],
  },
  'publish-without-id': {
    backend: 'nats',
    broken: 'a message is published without the id of its event',
    fault: 'worker-kill',
    workers: 1,
    rules: ['stored twice'],
  },
};

/** Small enough to be at rest soon, and with enough that is slow for a killed worker to have something in its hands. */
export const DIRECTED = {
  weights: { Slow: 40, Flaky: 4, Doomed: 0 },
  rate: 8,
  workers: 3,
  lastsMs: 12_000,
  short: true,
} as const;

/** What all mutants of a backend are shown by: the build as it is must stand it. */
export function faultsOf(backend: Backend): string[] {
  return [...new Set(Object.values(MUTANTS).flatMap((mutant) => (mutant.backend === backend ? [mutant.fault] : [])))];
}

/** Loaded into each worker. */
export const preloadOf = (mutant: string) => join(__dirname, `${mutant}.mjs`);
