import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type * as Broker from '../src/broker';
import type * as Headers from '../src/broker/headers';
import type * as Subject from '../src/broker/subject';
import type * as ReadEvent from '../src/handlers/readEvent';
import type * as LedgerClaim from '../src/ledger/claim';
import type * as LedgerFinish from '../src/ledger/finish';
import type * as Claim from '../src/outbox/claim';
import type * as Enqueue from '../src/outbox/enqueue';
import type * as Fence from '../src/outbox/fence';
import type * as Settle from '../src/outbox/settle';
import type * as Database from '../src/postgres/database';
import type * as Policy from '../src/retention/policy';
import type * as Prune from '../src/retention/prune';

/** The repository's root, which holds `dist/`. */
export const ROOT = join(__dirname, '..');

/** The worker as it is shipped. */
export const WORKER = join(ROOT, 'dist', 'worker.js');

/** The command, for workers with handlers. */
export const OUTBOX = join(ROOT, 'dist', 'cli.js');

/** @throws Error when the project has not been built, so that a direct `tsx bench/main.ts` says what to do */
export function requireBuild(): void {
  if (!existsSync(WORKER))
    throw new Error('dist/worker.js is missing: start the bench with `npm run bench`, which builds');
}

/**
 * What is timed outside the worker comes from `dist/` as well: the transpiler that runs these files keeps the names of
 * functions by a call per closure, and the bare loops must not pay for that.
 */
function built<Module>(path: string): Module {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would make the type check need a build
  return require(join(ROOT, 'dist', path)) as Module;
}

export const builtBroker = () => built<typeof Broker>('broker');
export const builtHeaders = () => built<typeof Headers>('broker/headers');
export const builtSubject = () => built<typeof Subject>('broker/subject');
export const builtClaim = () => built<typeof Claim>('outbox/claim');
export const builtEnqueue = () => built<typeof Enqueue>('outbox/enqueue');
export const builtFence = () => built<typeof Fence>('outbox/fence');
export const builtPolicy = () => built<typeof Policy>('retention/policy');
export const builtPrune = () => built<typeof Prune>('retention/prune');
export const builtSettle = () => built<typeof Settle>('outbox/settle');
export const builtReadEvent = () => built<typeof ReadEvent>('handlers/readEvent');
export const builtLedgerClaim = () => built<typeof LedgerClaim>('ledger/claim');
export const builtLedgerFinish = () => built<typeof LedgerFinish>('ledger/finish');
export const builtDatabase = () => built<typeof Database>('postgres/database');
