import { setTimeout as sleep } from 'node:timers/promises';
import type { Intake } from '../../src/consumer/intake';
import type { HandlingOutcome, IncomingEvent, SettleHandling } from '../../src/handlers/incoming';

export const HANDLED: HandlingOutcome = { kind: 'handled', handlers: 1 };

/** Stands for the fast path: counts what it gets, and settles as it is told. */
export class FakeIntake implements Intake {
  readonly got: { readonly event: IncomingEvent; readonly at: number }[] = [];
  capacity = 100;
  inHand = 0;
  settleWith: (event: IncomingEvent) => HandlingOutcome | Promise<HandlingOutcome> = () => HANDLED;

  room(): number {
    return Math.max(0, this.capacity - this.inHand);
  }

  async whenRoomy(ms: number, signal: AbortSignal): Promise<void> {
    const end = performance.now() + ms;
    while (this.room() === 0 && !signal.aborted && performance.now() < end) await sleep(10);
  }

  handle<E extends IncomingEvent>(events: readonly E[], settle: SettleHandling<E>): void {
    for (const event of events) {
      this.got.push({ event, at: performance.now() });
      this.inHand++;
      void Promise.resolve(this.settleWith(event)).then((outcome) => {
        this.inHand--;
        settle(event, outcome);
      });
    }
  }

  get ids(): string[] {
    return this.got.map(({ event }) => event.eventId);
  }
}

export function handledAfter(ms: number): () => Promise<HandlingOutcome> {
  return () => sleep(ms, HANDLED, { ref: false });
}
