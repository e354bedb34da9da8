import { colors } from './colors';
import type { Findings, Reconciliation } from '../reconcile/result';
import { counted, plain, table } from './output';

/** A block of counts, and under it a table for each class that has something to show. */
export function renderReconciliation(found: Reconciliation): string {
  const { lost, doubled, unhandled, dead, stream } = found;
  return [
    ...summary(found),
    ...(stream ? listed('Lost: published by the outbox, not in the stream', lost, ['EVENT ID', 'TYPE', 'PUBLISHED AT'], (each) => [each.eventId, plain(each.eventType), each.publishedAt]) : []),
    ...(stream ? listed('Doubled: further copies in the stream', doubled, ['EVENT ID', 'TYPE', 'SEQUENCE'], (each) => [each.eventId, plain(each.eventType), `${each.sequence}`]) : []),
    ...listed('Unhandled: neither done, nor waiting, dead or skipped', unhandled, ['EVENT ID', 'TYPE', 'HANDLER'], (each) => [each.eventId, plain(each.eventType), plain(each.handler)]),
    ...listed('Dead letters', dead, ['EVENT ID', 'TYPE', 'HANDLER', 'REASON'], (each) => [each.eventId, plain(each.eventType), each.handler === null ? '(relay)' : plain(each.handler), plain(each.reason)]),
  ].join('\n'); // prettier-ignore
}

function summary(found: Reconciliation): string[] {
  const { stream, checked, lost, doubled, unhandled, dead, foreign, notJudged } = found;
  const red = ({ count }: Findings<unknown>) => (count > 0 ? colors.red(number(count)) : '0');
  const of = stream === null ? '' : `, stream ${stream}`;
  return [
    `${colors.bold('Reconcile')}  schema ${found.schema}${of}, as of ${found.asOf}`,
    ...(found.since === null ? [] : [line('since', found.since)]),
    line('compared', compared(checked, stream !== null)),
    ...(stream === null ? [] : [line('lost', red(lost)), line('doubled', red(doubled))]),
    line('unhandled', red(unhandled)),
    line('dead letters', red(dead)),
    line('under way', underWay(found.underWay)),
    ...(stream === null ? [] : [line('foreign', counted(foreign, 'message'))]),
    line('not judged', judgedNot(notJudged)),
  ];
}

function compared({ events, messages, handlings }: Reconciliation['checked'], withStream: boolean): string {
  const parts = [counted(events, 'event'), ...(withStream ? [counted(messages, 'message')] : [])];
  return [...parts, counted(handlings, 'handling')].join(', ');
}

function underWay(counts: Reconciliation['underWay']): string {
  const { deliveries, handlings, ...rows } = counts;
  const parts = Object.entries({ ...rows, 'deliveries that wait': deliveries, 'handlings not done yet': handlings });
  const some = parts.filter(([, count]) => count > 0);
  return some.map(([name, count]) => `${number(count)} ${name}`).join(', ') || 'nothing';
}

function judgedNot({ published, handlings }: Reconciliation['notJudged']): string {
  const parts = [
    published > 0 && `${counted(published, 'event')} that the stream need not hold any more`,
    handlings > 0 && `${counted(handlings, 'handling')} older than ledger or handler, or dropped lately`,
  ].filter(Boolean);
  return parts.join(', ') || 'nothing';
}

function listed<T>(title: string, { count, shown }: Findings<T>, head: string[], row: (each: T) => string[]): string[] {
  if (count === 0) return [];
  const more = count > shown.length ? ` (the first ${number(shown.length)} of ${number(count)})` : '';
  return ['', `${colors.bold(title)}${more}`, table(head, shown.map(row))];
}

function line(label: string, value: string): string {
  return `  ${colors.dim(label.padEnd(14))}${value}`;
}

function number(count: number): string {
  return count.toLocaleString('en-US');
}
