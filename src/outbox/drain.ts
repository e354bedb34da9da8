import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { ExhaustedError, PublishError } from '../errors';
import type { ClaimedEvent } from '../event';
import { databaseOver, type Database } from '../postgres/database';
import { schemaOf } from '../postgres/schemaName';
import { claimDue } from './claim';
import { nextDue } from './due';
import { reclaimLeases } from './fence';
import { bury, free, markSomeDone } from './settle';

export interface DrainOptions {
  /**
   * Publishes one event under its `eventId`; a drain that dies may publish it again. Throw `PublishError` when the
   * broker cannot take it now, `ExhaustedError` when it never can; anything else stops the pass.
   */
  readonly publish: (event: ClaimedEvent) => Promise<void>;
  /** Default: OUTBOX_SCHEMA, else `public`. */
  readonly schema?: string;
  /** Rows of one pass. Default 100: little is published again when a pass dies before it has written its outcome. */
  readonly limit?: number;
  /** Milliseconds after which a claim counts as left behind. Default 600,000, the relay's own. */
  readonly leaseMs?: number;
  /**
   * Aborted: nothing more is published. What is claimed and was not published is pending again when the drain returns,
   * instead of waiting for the lease.
   */
  readonly signal?: AbortSignal;
  /** Told at most once a pass, with counts and the first reason. Default: `process.emitWarning`. */
  readonly warn?: (message: string, fields: DrainWarning) => void;
}

export interface DrainResult {
  /** Rows that are `done`. */
  readonly published: number;
  /** Rows that the broker could not take now, or that the signal came before: pending, attempts unspent. */
  readonly leftPending: number;
  /** Rows that became dead letters. */
  readonly dead: number;
  /** Rows whose lease was over before their outcome was written: another claim has them, and settles them. */
  readonly lost: number;
}

export interface DrainWarning extends DrainResult {
  /** Why the first row that was not published was not. */
  readonly reason: string;
}

const DEFAULT_LIMIT = 100;
const DEFAULT_LEASE_MS = 600_000;
const DEFAULT_MAX_PASSES = 1_000;
/** The relay's own bound: what one claim holds in memory. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_REASON = 1_000;

/**
 * One pass over the events that are due, without Temporal: for tests, and for a flush when Temporal is away. Claims
 * outside the relay's fence, so a relay that runs beside it is never disturbed; `SKIP LOCKED` keeps the two apart.
 * First frees rows whose lease is over. Events are published one by one in their order, and no connection is held
 * meanwhile, so a pool of one connection is enough. The outcome is written when the pass ends: if the process dies
 * before, its rows wait for the lease and are then published again under the same ids.
 *
 * @throws what `publish` threw, if it was neither `PublishError` nor `ExhaustedError`: what had been published is
 *   marked done and the rest is free again by then
 */
export async function drainOnce(pool: Pool, options: DrainOptions): Promise<DrainResult> {
  const limit = atLeastOne('limit', options.limit ?? DEFAULT_LIMIT);
  const db = databaseOver(pool, schemaOf(options.schema));
  const token = outsideToken();
  await reclaimLeases(db, options.leaseMs ?? DEFAULT_LEASE_MS, []);
  const { events } = await claimDue(db, token, { rows: limit, bytes: MAX_BYTES });
  if (events.length === 0) return { published: 0, leftPending: 0, dead: 0, lost: 0 };

  const pass = await publishInOrder(events, options);
  const warn = options.warn ?? emitWarning;
  let result: DrainResult;
  try {
    result = await settle(db, token, pass, events.length);
  } catch (error) {
    if (!pass.stopped) throw error;
    // The reason of the stop is worth more to the caller; the rows wait for the lease.
    warn('outbox drain: the outcome of the pass could not be written; its rows wait for the lease', {
      ...{ published: 0, leftPending: 0, dead: 0, lost: events.length },
      reason: reasonOf(error),
    });
    throw pass.stopped.error;
  }
  const reason = pass.firstReason ?? (result.lost > 0 ? 'their lease was over before the pass ended' : undefined);
  if (reason !== undefined) {
    const failed = events.length - result.published;
    warn(`outbox drain: ${failed} of ${events.length} events were not published`, { ...result, reason });
  }
  if (pass.stopped) throw pass.stopped.error;
  return result;
}

/** Sums over the passes, but for `leftPending`: rows that the last pass left so. */
export interface DrainAllResult extends DrainResult {
  readonly passes: number;
  /** Events are due, and were left: those of `leftPending`, or those that `maxPasses` or the signal came before. */
  readonly moreDue: boolean;
}

/**
 * Passes until one neither publishes nor buries anything, until `maxPasses`, or until the signal. Events that are due
 * later are left.
 *
 * @param options.maxPasses default 1,000; a bound for callers whose `publish` enqueues new events. `moreDue` tells such an
 *   end from one with nothing left
 * @throws as `drainOnce`
 */
export async function drainAll(pool: Pool, options: DrainOptions & { maxPasses?: number }): Promise<DrainAllResult> {
  const maxPasses = atLeastOne('maxPasses', options.maxPasses ?? DEFAULT_MAX_PASSES);
  let total = { published: 0, leftPending: 0, dead: 0, lost: 0, passes: 0 };
  let foundNone = false;
  while (total.passes < maxPasses && !options.signal?.aborted) {
    const pass = await drainOnce(pool, options);
    total = {
      published: total.published + pass.published,
      leftPending: pass.leftPending,
      dead: total.dead + pass.dead,
      lost: total.lost + pass.lost,
      passes: total.passes + 1,
    };
    if (pass.published + pass.dead === 0) {
      foundNone = pass.leftPending + pass.lost === 0;
      break;
    }
  }
  return { ...total, moreDue: !foundNone && (await anyDue(databaseOver(pool, schemaOf(options.schema)))) };
}

async function anyDue(db: Database): Promise<boolean> {
  return (await nextDue(db)).inMs === 0;
}

interface Pass {
  readonly published: string[];
  /** Row ids by reason: one statement for each reason. */
  readonly exhausted: Map<string, string[]>;
  firstReason: string | undefined;
  stopped: { readonly error: unknown } | undefined;
}

async function publishInOrder(
  events: readonly ClaimedEvent[],
  { publish, signal }: Pick<DrainOptions, 'publish' | 'signal'>,
): Promise<Pass> {
  const pass: Pass = { published: [], exhausted: new Map(), firstReason: undefined, stopped: undefined };
  for (const event of events) {
    if (signal?.aborted) break;
    try {
      await publish(event);
      pass.published.push(event.id);
    } catch (error) {
      const reason = reasonOf(error);
      pass.firstReason ??= reason;
      if (error instanceof ExhaustedError) {
        pass.exhausted.set(reason, [...(pass.exhausted.get(reason) ?? []), event.id]);
      } else if (!(error instanceof PublishError)) {
        pass.stopped = { error };
        break;
      }
    }
  }
  return pass;
}

async function settle(db: Database, token: string, pass: Pass, claimed: number): Promise<DrainResult> {
  const published = pass.published.length > 0 ? await markSomeDone(db, token, pass.published) : 0;
  let dead = 0;
  for (const [reason, ids] of pass.exhausted) dead += await bury(db, token, ids, reason);
  const settled = pass.published.length + [...pass.exhausted.values()].flat().length;
  const leftPending = settled < claimed ? await free(db, token) : 0;
  return { published, leftPending, dead, lost: claimed - published - dead - leftPending };
}

/** Negative: outside the fence. Random: no two drains share one. 63 bits: all that a bigint has below zero. */
function outsideToken(): string {
  return `-${(randomBytes(8).readBigUInt64BE() >> 1n) + 1n}`;
}

/** Stored with a dead letter: bounded, and without the NUL and half characters that PostgreSQL refuses. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, MAX_REASON).replaceAll('\u0000', ' ').toWellFormed() || 'no reason was given';
}

function atLeastOne(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1 || value > 2_147_483_647) {
    throw new RangeError(`${name} must be a whole number from 1, not ${String(value)}`);
  }
  return value;
}

function emitWarning(message: string, fields: DrainWarning): void {
  process.emitWarning(`${message}: ${fields.reason}`, { type: 'OutboxWarning' });
}
