import Table from 'cli-table3';
import type { Counted } from './stream';

export interface Report extends Counted {
  readonly stored: number;
  readonly enqueued: number;
  readonly transactions: number;
  readonly rolledBack: number;
  readonly dead: number;
  readonly seconds: number;
  readonly activities: number;
}

/** Every event exactly once in the stream, and nothing that was not committed. */
export function isExact(report: Report): boolean {
  return (
    report.enqueued === report.stored &&
    report.published === report.enqueued &&
    report.missing === 0 &&
    report.duplicates === 0 &&
    report.fromRolledBack === 0 &&
    report.dead === 0
  );
}

export function tableOf(report: Report): string {
  const table = new Table({ colAligns: ['left', 'right', 'left'], style: { head: [], border: [] } });
  const number = (value: number) => value.toLocaleString('en-US');
  table.push(
    ['films stored', number(report.stored), 'rows of the table movies'],
    ['events enqueued', number(report.enqueued), `in ${number(report.transactions)} transactions of mixed sizes`],
    ['events rolled back', number(report.rolledBack), 'on purpose; their transactions were then repeated'],
    ['events published', number(report.published), 'different event ids, counted in the stream'],
    ['missing', number(report.missing), 'committed, and not in the stream'],
    ['duplicates', number(report.duplicates), 'in the stream more than once'],
    ['from rolled back', number(report.fromRolledBack), 'in the stream, and never committed'],
    ['dead letters', number(report.dead), 'given up by the relay'],
    [
      'seconds',
      report.seconds.toFixed(1),
      `${number(Math.round(report.enqueued / report.seconds))} events a second, storing included`,
    ],
    ['Temporal activities', number(report.activities), 'claim, publish, mark'],
  );
  return table.toString();
}
