import type { Broker, Outcome } from '../broker/broker';
import type { ClaimedEvent } from '../event';
import type { BatchOutcome, Exception } from './outcome';

/** More different reasons than an operator would read; past it, rows share one. It bounds what enters a history. */
const MAX_REASONS = 100;

/**
 * The rows that one claim holds, published from the moment they are added. Lives in the worker's memory only: if it
 * is lost, the rows are read again by token and published under the same ids.
 */
export class Batch {
  rows = 0;
  bytes = 0;
  lagMs = 0;
  private readonly outcomes: { event: ClaimedEvent; outcome: Outcome }[] = [];
  private publishing: Promise<void> = Promise.resolve();

  constructor(
    readonly token: string,
    private readonly broker: Broker,
  ) {}

  add(events: readonly ClaimedEvent[], bytes: number): void {
    this.rows += events.length;
    this.bytes += bytes;
    const published = this.broker.publish(events, (event, outcome) => this.outcomes.push({ event, outcome }));
    this.publishing = Promise.all([this.publishing, published]).then(() => undefined);
  }

  /** Resolves when every row has its outcome; bounded by the publish time-out. */
  settled(): Promise<void> {
    return this.publishing;
  }

  /** Ids acknowledged so far. */
  acknowledged(): string[] {
    return this.outcomes.filter(({ outcome }) => outcome.kind === 'published').map(({ event }) => event.id);
  }

  get away(): boolean {
    return this.outcomes.some(({ outcome }) => outcome.kind === 'away');
  }

  /**
   * What is to be written. When nothing at all was answered, the broker is what failed, not the rows: they go back
   * unchanged.
   */
  outcome(): BatchOutcome {
    const answered = this.outcomes.some(({ outcome }) => outcome.kind !== 'unanswered' && outcome.kind !== 'away');
    const exceptions = new Map<string, Exception & { ids: string[] }>();
    const recovered = new Set<string>();
    let published = 0;
    let duplicates = 0;
    let away: string | null = null;
    for (const { event, outcome } of this.outcomes) {
      if (outcome.kind === 'published') {
        published++;
        if (outcome.duplicate) duplicates++;
        if (event.failureReason !== null && event.deferrals > 0) recovered.add(event.failureReason);
        continue;
      }
      const write = decide(outcome, event.probe, answered);
      if (write === 'return') away ??= outcome.reason;
      const reason = exceptions.size < MAX_REASONS ? outcome.reason : 'one of too many different reasons in one pass';
      const key = `${write} ${reason}`;
      const exception = exceptions.get(key) ?? { write, reason, ids: [] };
      exception.ids.push(event.id);
      exceptions.set(key, exception);
    }
    return {
      published,
      duplicates,
      exceptions: [...exceptions.values()],
      recovered: [...recovered].slice(0, MAX_REASONS),
      away,
    };
  }
}

function decide(
  outcome: Exclude<Outcome, { kind: 'published' }>,
  probe: boolean,
  answered: boolean,
): Exception['write'] {
  if (outcome.kind === 'refused') return 'bury';
  if (probe) return 'put back';
  if (outcome.kind === 'away' || (outcome.kind === 'unanswered' && !answered)) return 'return';
  return 'defer';
}
