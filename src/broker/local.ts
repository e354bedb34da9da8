import type { ClaimedEvent } from '../event';
import type { HandlingOutcome, IncomingEvent, SettleHandling } from '../handlers/incoming';
import type { Broker, Outcome, Settle } from './broker';

interface Handling {
  room(): number;
  whenRoomy(ms: number, signal: AbortSignal): Promise<void>;
  handle<E extends IncomingEvent>(events: readonly E[], settle: SettleHandling<E>): void;
}

/** Backend `db`: to publish an event is to hand it to the worker's own handlers. */
export class LocalBroker implements Broker {
  /** PostgreSQL alone is needed, and a claim has it. */
  readonly up = true;

  constructor(private readonly handling: Handling) {}

  ready(): Promise<null> {
    return Promise.resolve(null);
  }

  room(): number {
    return this.handling.room();
  }

  whenRoomy(ms: number, signal: AbortSignal): Promise<void> {
    return this.handling.whenRoomy(ms, signal);
  }

  async publish(events: readonly ClaimedEvent[], settle: Settle): Promise<void> {
    let open = events.length;
    if (open === 0) return;
    await new Promise<void>((resolve) => {
      const incoming = events.map((event) => ({ ...event, source: 'outbox' }));
      this.handling.handle(incoming, (event, outcome) => {
        settle(event, asPublished(outcome));
        if (--open === 0) resolve();
      });
    });
  }

  onBack(): void {
    // It is never away.
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function asPublished(outcome: HandlingOutcome): Outcome {
  if (outcome.kind === 'handled') return { kind: 'published', duplicate: false, unhandled: outcome.handlers === 0 };
  if (outcome.kind === 'handed over') return { kind: 'handed over' };
  return { kind: 'away', reason: outcome.reason };
}
