import type { Broker, Outcome } from '../broker/broker';
import type { ClaimedEvent } from '../event';
import type { Metrics } from '../telemetry/metrics';
import type { BatchOutcome, Exception } from './outcome';

/** More different reasons than an operator would read; past it, rows share one. It bounds what enters a history. */
const MAX_REASONS = 400;

/**
 * The rows that one claim holds, published from the moment they are added. Lives in the worker's memory only: if it
 * is lost, the rows are read again by token and published under the same ids.
 */
export class Batch {
  rows = 0;
  bytes = 0;
  lagMs = 0;
  /** Some row met a broker that is away. */
  away = false;
  private readonly published: string[] = [];
  private duplicates = 0;
  private unhandled = 0;
  private readonly recovered = new Set<string>();
  /** Only of these an outcome is kept: bodies become garbage as soon as the broker has them. */
  private readonly failures: { id: string; probe: boolean; outcome: Failure }[] = [];
  private publishing: Promise<void> = Promise.resolve();

  constructor(
    readonly token: string,
    private readonly broker: Broker,
    /** Told of each acknowledgement. */
    private readonly metrics?: Metrics | undefined,
  ) {}

  /** @param probe taken before their time, to see whether what deferred them has been mended */
  add(events: readonly ClaimedEvent[], bytes: number, probe = false): void {
    this.rows += events.length;
    this.bytes += bytes;
    const claimedAt = performance.now();
    const published = this.broker.publish(events, (event, outcome) => {
      if (outcome.kind === 'published') this.acknowledge(event, outcome, claimedAt);
      else this.fail(event.id, probe, outcome);
    });
    this.publishing = Promise.all([this.publishing, published]).then(() => undefined);
  }

  private acknowledge(event: ClaimedEvent, { duplicate, unhandled }: Published, claimedAt: number): void {
    this.metrics?.acknowledged(performance.now() - claimedAt);
    this.published.push(event.id);
    if (duplicate) this.duplicates++;
    if (unhandled) this.unhandled++;
    if (event.deferrals > 0 && event.failureReason !== null) this.recovered.add(event.failureReason);
  }

  private fail(id: string, probe: boolean, outcome: Failure): void {
    this.failures.push({ id, probe, outcome });
    if (outcome.kind === 'away') this.away = true;
  }

  /** Resolves when every row has its outcome; bounded by the publish time-out. */
  settled(): Promise<void> {
    return this.publishing;
  }

  /** Ids acknowledged so far. */
  acknowledged(): readonly string[] {
    return this.published;
  }

  /** What is to be written. */
  outcome(): BatchOutcome {
    const exceptions = new Map<string, Exception & { ids: string[] }>();
    let away: string | null = null;
    for (const { id, probe, outcome } of this.failures) {
      const write = decide(outcome, probe);
      // Each handler's own reason stands in `deliveries`.
      const given = outcome.kind === 'handed over' ? 'handed over to delivery runs' : outcome.reason;
      if (write === 'return') away ??= given;
      const reason = exceptions.size < MAX_REASONS ? given : 'one of too many different reasons in one pass';
      const key = `${write} ${reason}`;
      const exception = exceptions.get(key) ?? { write, reason, ids: [] };
      exception.ids.push(id);
      exceptions.set(key, exception);
    }
    return {
      published: this.published.length,
      duplicates: this.duplicates,
      ...(this.unhandled > 0 && { unhandled: this.unhandled }),
      exceptions: [...exceptions.values()],
      recovered: [...this.recovered].slice(0, MAX_REASONS),
      away,
    };
  }
}

type Published = Extract<Outcome, { kind: 'published' }>;
type Failure = Exclude<Outcome, Published>;

/**
 * A broker that is away is not the rows' fault: they go back unchanged. One that is there and leaves a row without an
 * answer is a fault of that row's stream, also when it is the only row of the pass: held for away, one such row would
 * stop all others for as long as the schedule waits.
 */
function decide(outcome: Failure, probe: boolean): Exception['write'] {
  if (outcome.kind === 'handed over') return 'retry';
  if (outcome.kind === 'refused') return 'bury';
  if (probe) return 'put back';
  return outcome.kind === 'away' ? 'return' : 'defer';
}
