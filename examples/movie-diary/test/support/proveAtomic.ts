import type { Pool } from 'pg';
import { joined, pooled, type Connection } from '../../src/adapters/postgres/connection';
import { repositories, type Repositories } from '../../src/adapters/postgres/repositories';
import { changed, contentsOf, eventTypes } from './contents';
import { FailingPool, type Failure } from './failingPool';

export type Run = (stored: Repositories, connection: Connection) => Promise<unknown>;

/** A use case, and what it writes when nothing fails. */
export interface Proof {
  readonly name: string;
  /** Tables beside the outbox that it changes. */
  readonly tables: readonly string[];
  readonly events: readonly string[];
  /** What the same request again does; default: nothing. */
  readonly again?: 'writes anew';
  /** It runs in the transaction of a transactional handler, which is then the one that must be whole. */
  readonly joins?: true;
  /** Brings about what the use case needs. @returns the use case itself, to be run any number of times */
  readonly prepare: (stored: Repositories, connection: Connection) => Promise<Run>;
}

/**
 * Runs a use case with its first statement failing, then its second, and so on, until one run has fewer. Each failure must
 * leave every table as it was; the run without one must leave both the state and its events.
 *
 * @throws Error that names the statement
 */
export async function proveAtomic(pool: Pool, proof: Proof): Promise<{ readonly statements: number }> {
  const plain = pooled(pool);
  const useCase = await proof.prepare(repositories(plain), plain);
  const run = (over: Pick<Pool, 'connect' | 'query'>): Promise<unknown> => {
    const own = pooled(over);
    if (!proof.joins) return useCase(repositories(own), own);
    return own.transaction((tx) => useCase(repositories(joined(tx)), joined(tx)));
  };
  const before = await contentsOf(pool);

  /** @returns the statement that failed; undefined when there are fewer */
  const fail = async (at: number, failure: Failure): Promise<string | undefined> => {
    const failing = new FailingPool(pool, at, failure);
    const succeeded = await run(failing.asPool()).then(
      () => true,
      (error: unknown) => {
        if (failing.failed === undefined) throw error;
        return false;
      },
    );
    const { failed } = failing;
    if (failed === undefined) return undefined;
    const what = `${proof.name}: when statement ${at} (${failure}) failed, ${failed.trim().split('\n')[0] ?? ''}`;
    if (succeeded) throw new Error(`${what}, the caller was not told`);
    const left = changed(before, await contentsOf(pool));
    if (left.length > 0) throw new Error(`${what}, it had changed ${left.join(', ')}`);
    return failed;
  };

  let at = 1;
  for (; ; at += 1) {
    const failed = await fail(at, 'error');
    if (failed === undefined) break;
    if (failed === 'COMMIT') await fail(at, 'cut');
  }

  const after = await contentsOf(pool);
  const outbox = proof.events.length > 0 ? ['event_queue'] : [];
  expect(changed(before, after)).toEqual([...proof.tables, ...outbox].sort());
  expect(eventTypes(after)).toEqual([...eventTypes(before), ...proof.events].sort());
  if (proof.again === undefined) {
    await run(pool).catch(onlyRefusals);
    expect(changed(after, await contentsOf(pool))).toEqual([]);
  }
  return { statements: at - 1 };
}

/** A change of what was read before the first run, for one, is told that somebody was faster. */
function onlyRefusals(error: unknown): void {
  if ((error as Error).name !== 'Refusal') throw error;
}
