import { setImmediate as turn } from 'node:timers/promises';
import type { Config } from '../config';
import { LONGEST_SLICE } from '../relay/outcome';
import type { Intake } from './intake';
import type { ReceiveResult } from './outcome';
import type { Flow, Source } from './source';
import { consumerTimingsOf } from './timings';

/** How often room and broker are looked at while nothing comes. */
const LOOK_EVERY_MS = 100;

export interface ReceiveDeps {
  readonly source: Source;
  readonly intake: Intake;
  readonly config: Config;
  readonly stopping: AbortSignal;
}

/**
 * Receives until the slice is over: waits for the first message (at most `longPollMs`), then goes on until none has come
 * for `sliceMs`, or the slice is at its longest. Never waits for a handler: outcomes that come later are acknowledged
 * then, and counted in the next result.
 *
 * @param signal ends it at once; what was under way is still handed in
 */
export async function receive(deps: ReceiveDeps, signal: AbortSignal): Promise<ReceiveResult> {
  const { source, config, stopping } = deps;
  const away = stopping.aborted ? null : ((await source.ready()) ?? (await receiveSlice(deps, signal)));
  return {
    kind: stopping.aborted ? 'left' : away === null ? 'received' : 'away',
    reason: stopping.aborted ? null : away,
    counts: source.takeCounts(),
    unsettled: source.takeUnsettled(),
    timings: consumerTimingsOf(config),
  };
}

/** @returns why the source is away, if it is */
async function receiveSlice({ source, intake, config }: ReceiveDeps, signal: AbortSignal): Promise<string | null> {
  const { longPollMs, sliceMs, heartbeatTimeoutMs } = config.relay;
  let latest = performance.now() + longPollMs;
  let end = latest;
  /** Of the open flow. */
  let seen = 0;
  let first = true;
  let lookedAt = performance.now();
  let flow: Flow | undefined;
  try {
    for (;;) {
      const now = performance.now();
      // Frozen for so long that this receive is taken for lost: its messages are others' by now.
      if (signal.aborted || now >= end || now - lookedAt > heartbeatTimeoutMs) return null;
      lookedAt = now;
      if (flow?.lost) return flow.lost;
      const room = intake.room();
      if (room > 0) {
        flow ??= source.open();
        flow.want(room, latest - now);
        await flow.wait(Math.min(end - now, LOOK_EVERY_MS), signal);
        // What came in this turn is handed in at its end: until then the room does not show it.
        await turn();
      } else {
        // The ledger cannot be read, or the handlers are busy: what came now would burn a delivery, or only wait here.
        await closeFlow();
        await intake.whenRoomy(Math.min(end - now, heartbeatTimeoutMs / 2), signal);
      }
      countArrivals();
    }
  } finally {
    await flow?.close();
  }

  function countArrivals(): void {
    if (!flow || flow.received === seen) return;
    const now = performance.now();
    seen = flow.received;
    if (first) latest = now + LONGEST_SLICE * sliceMs;
    first = false;
    end = Math.min(now + sliceMs, latest);
  }

  async function closeFlow(): Promise<void> {
    await flow?.close();
    flow = undefined;
    seen = 0;
  }
}
