import type { Broker } from '../broker/broker';
import type { Config } from '../config';
import { claimDue, claimProbe } from '../outbox/claim';
import { nextDue } from '../outbox/due';
import type { Database } from '../postgres/database';
import type { WakeListener } from '../postgres/wake';
import type { Batch } from './batch';
import { LONGEST_SLICE } from './outcome';

/**
 * Rows of one claim statement. JetStream takes at most 1,000 messages in an atomic batch, and while the broker works on
 * one portion PostgreSQL already claims the next.
 */
const PORTION = 1_000;
/** When the row due first is locked by somebody else, looking again at once would spin. */
const LOCKED_ROW_WAIT_MS = 100;

export interface CollectDeps {
  readonly db: Database;
  readonly broker: Broker;
  readonly wake: WakeListener;
  readonly relay: Config['relay'];
  /**
   * When this worker probed last. Kept from claim to claim: a failed probe ends its claim, so a time of the claim's own
   * would make one deferred row a loop of probes without a pause (C35).
   */
  readonly lastProbe: { at: number };
}

/** Why collecting ended. */
export type Collected = 'full' | 'slice over' | 'nothing due' | 'interrupted' | 'broker away' | 'superseded';

/**
 * Collects rows into `batch` until the slice is over: waits for the first that is due (at most `longPollMs`), then goes
 * on claiming as wake-ups arrive, until none has come for `sliceMs`, the slice is at its longest, or the batch is full.
 * Each row is being published by the time the next is claimed.
 *
 * @param signal ends collecting; what was claimed stays in the batch
 */
export async function collect(deps: CollectDeps, batch: Batch, signal: AbortSignal): Promise<Collected> {
  const { db, broker, wake, relay, lastProbe } = deps;
  let end = performance.now() + relay.longPollMs;
  let began = 0;
  let backlog = false;
  const left = () => end - performance.now();

  for (;;) {
    if (signal.aborted) return 'interrupted';
    if (!broker.up || batch.away) return 'broker away';
    const seen = wake.count;
    const room = broker.room?.() ?? PORTION;
    if (room === 0) {
      await broker.whenRoomy?.(left(), signal);
      if (left() <= 0) return batch.rows > 0 ? 'slice over' : 'nothing due';
      continue;
    }
    const portion = Math.min(PORTION, relay.batchSize - batch.rows, room);
    const claimed = await claimDue(db, batch.token, {
      rows: portion,
      bytes: relay.batchBytes - batch.bytes,
      orOne: batch.rows === 0,
    });
    if (!claimed.held) return 'superseded';
    const found = claimed.events.length;
    if (found > 0) {
      const now = performance.now();
      if (batch.rows === 0) {
        began = now;
        batch.lagMs = claimed.lagMs;
      }
      end = Math.min(now + relay.sliceMs, began + LONGEST_SLICE * relay.sliceMs);
      batch.add(claimed.events, claimed.bytes);
    }
    if (batch.rows >= relay.batchSize || claimed.overflow) return 'full';
    if (found > 0 && left() <= 0) return 'slice over';
    if (found === portion) {
      // More may be due already.
      backlog = true;
    } else if (backlog) {
      // The end of a backlog: its outcomes are not held back for the rest of the slice.
      return 'slice over';
    } else if (found > 0) {
      await wake.wait(seen, left(), signal);
      if (left() <= 0) return 'slice over';
    } else {
      const rested = await rest(seen);
      if (rested !== 'look again') return rested;
    }
  }

  /** Sleeps until something is due, or may be. */
  async function rest(seen: number): Promise<Collected | 'look again'> {
    for (;;) {
      const due = await nextDue(db);
      const untilProbe = due.deferred && batch.rows === 0 ? lastProbe.at + relay.probeMs - performance.now() : Infinity;
      if (untilProbe <= 0) {
        lastProbe.at = performance.now();
        const probe = await claimProbe(db, batch.token);
        if (!probe.held) return 'superseded';
        batch.add(probe.events, probe.bytes, true);
        // What a probe tells is wanted at once: others may be freed by it.
        if (probe.events.length > 0) return 'slice over';
        continue;
      }
      const untilDue = due.inMs === 0 ? LOCKED_ROW_WAIT_MS : (due.inMs ?? Infinity);
      const poll = wake.proven ? relay.pollMs : relay.unprovenPollMs;
      const sleep = Math.min(left(), poll, untilDue, untilProbe);
      await wake.wait(seen, sleep, signal);
      if (left() <= 0) return batch.rows > 0 ? 'slice over' : 'nothing due';
      if (signal.aborted || !broker.up || wake.count !== seen || untilDue <= sleep) return 'look again';
    }
  }
}
