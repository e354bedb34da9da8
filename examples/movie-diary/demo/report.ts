import Table from 'cli-table3';
import type { Mended } from './mend';
import type { Ordered } from './posterLog';
import type { PosterCalls } from './posterServer';
import type { Indexed } from './searchIndex';
import type { Counted } from './stream';
import type { Cost } from './temporal';

export interface Report extends Indexed, Ordered, Mended, Cost {
  readonly stored: number;
  readonly enqueued: number;
  readonly transactions: number;
  readonly rolledBack: number;
  /** Undefined in the backend `db`, which has no stream. */
  readonly stream: Counted | undefined;
  /** Rows of the outbox that are finished. */
  readonly done: number;
  /** Entries of the ledger, of two handlers. */
  readonly handled: number;
  readonly calls: PosterCalls;
  /** Dead letters at the end. */
  readonly dead: number;
  readonly seconds: number;
}

/** Every event once in the stream and once with each handler, and nothing that was not committed. */
export function isExact(report: Report): boolean {
  const { enqueued, stream } = report;
  const published =
    !stream ||
    (stream.published === enqueued && stream.missing === 0 && stream.duplicates === 0 && stream.fromRolledBack === 0);
  const indexed = report.indexed === enqueued && report.indexedTwice === 0;
  const ordered =
    report.ordered === enqueued &&
    report.orderedTwice === 0 &&
    report.notOrdered === 0 &&
    report.orderedOfRolledBack === 0;
  const finished = report.done === enqueued && report.handled === 2 * enqueued && report.dead === 0;
  // Whoever mends it by hand in time sees no dead letter at all.
  const mended = report.died === 0 || report.reemitted.length > 0;
  return enqueued === report.stored && published && indexed && ordered && finished && mended;
}

export function tableOf(report: Report): string {
  const table = new Table({ colAligns: ['left', 'right', 'left'], style: { head: [], border: [] } });
  const row = (name: string, value: number | string, meaning: string) =>
    table.push([name, typeof value === 'number' ? value.toLocaleString('en-US') : value, meaning]);
  const { stream, calls } = report;
  row('films stored', report.stored, 'rows of the table movies');
  row(
    'events enqueued',
    report.enqueued,
    `in ${report.transactions.toLocaleString('en-US')} transactions of mixed sizes`,
  );
  row('events rolled back', report.rolledBack, 'on purpose; their transactions were then repeated');
  if (stream) {
    row('events published', stream.published, 'different event ids, counted in the stream');
    row('missing', stream.missing, 'committed, and not in the stream');
    row('duplicates', stream.duplicates, 'in the stream more than once');
    row('from rolled back', stream.fromRolledBack, 'in the stream, and never committed');
  }
  row('events done', report.done, 'rows of the outbox');
  row('ledger entries', report.handled, 'done, of two handlers');
  row('films indexed', report.indexed, 'by search-index: rows of movie_search that these events wrote');
  row('indexed twice', report.indexedTwice, 'written more than once by one event');
  row('posters ordered', report.ordered, "by poster-service: different event ids in the service's own log");
  row('not ordered', report.notOrdered, "committed, and not in the service's log");
  row('ordered twice', report.orderedTwice, "in the service's log more than once");
  row('of rolled back', report.orderedOfRolledBack, "in the service's log, and never committed");
  row('calls of the service', calls.all, meaningOf(calls));
  row('delivery runs', report.runs, `workflows in Temporal, for events that failed; ${report.failedRuns} ended failed`);
  row('retries', report.retries, 'attempts in these runs, each an activity of its own');
  row('re-emitted', report.reemitted.length, `of ${report.died} dead letters on the way, once their cause was mended`);
  row('dead letters', report.dead, 'left at the end');
  const rate = Math.round(report.enqueued / report.seconds).toLocaleString('en-US');
  row('seconds', report.seconds.toFixed(1), `${rate} events a second, from storing to the last effect`);
  row('Temporal activities', report.activities, `of ${stream ? 'relay and consumer' : 'the relay'}, for all events`);
  return table.toString();
}

function meaningOf({ unavailable, unanswered, refused, repeated }: PosterCalls): string {
  return `${unavailable} got 503, ${unanswered} no answer, ${refused} got 422; ${repeated} repeated an order that was there`;
}
