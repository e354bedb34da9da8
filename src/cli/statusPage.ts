import { colors } from './colors';
import type { Backlog } from '../outbox/backlog';
import type { RelayState, RelayStatus } from '../workflows/messages';
import { duration, plain } from './output';

type Half<T> = ({ readonly available: true } & T) | { readonly available: false; readonly reason: string };

/** What `outbox status --json` prints. */
export interface Status {
  readonly relay: Half<RelayStatus & { readonly workflowId: string }>;
  readonly database: Half<Backlog & { readonly schema: string }>;
}

const COLOURS: Record<RelayState, (text: string) => string> = {
  starting: colors.cyan,
  running: colors.green,
  pausing: colors.yellow,
  paused: colors.yellow,
  'waiting for the broker': colors.red,
  'continuing as new': colors.cyan,
  ending: colors.yellow,
};

/** Two blocks of aligned lines; a half that could not be read is one line with its reason. */
export function renderStatus({ relay, database }: Status): string {
  return [...relayLines(relay), '', ...databaseLines(database)].join('\n');
}

function relayLines(relay: Status['relay']): string[] {
  if (!relay.available) return unavailable('Relay', relay.reason);
  const { totals } = relay;
  const numbers = (entries: [string, number][]) =>
    entries.map(([name, count]) => `${number(count)} ${name}`).join(', ');
  return [
    `${colors.bold('Relay')}  ${relay.workflowId}`,
    line('state', COLOURS[relay.state](relay.state)),
    line('lag', duration(relay.lagMs)),
    line('in flight', number(relay.inFlight)),
    line('published', numbers([['published', totals.published], ['duplicates', totals.duplicates]]).replace(' published', '')),
    line('not published', numbers([['deferred', totals.deferred], ['dead', totals.dead], ['returned', totals.returned]])),
    line('passes', number(totals.passes)),
    line('last pass', relay.lastPassAt ?? 'none yet'),
    line('worker', relay.worker ?? 'none yet'),
    line('last error', relay.lastError ? colors.red(`${plain(relay.lastError.message)} (${relay.lastError.at})`) : 'none'),
  ]; // prettier-ignore
}

function databaseLines(database: Status['database']): string[] {
  if (!database.available) return unavailable('Outbox', database.reason);
  const red = (count: number) => (count > 0 ? colors.red(number(count)) : number(count));
  return [
    `${colors.bold('Outbox')}  schema ${database.schema}`,
    line('pending', number(database.pending)),
    line('deferred', number(database.deferred)),
    line('processing', number(database.processing)),
    line('dead letters', red(database.deadLettered)),
    line('handlers', `${number(database.waitingDeliveries)} waiting, ${red(database.deadDeliveries)} dead`),
    line('due now', number(database.due)),
    line('oldest due', database.oldestDueMs === null ? 'none' : `${duration(database.oldestDueMs)} ago`),
  ];
}

function unavailable(half: string, reason: string): string[] {
  return [`${colors.bold(half)}  ${colors.red('unavailable')}`, `  ${reason}`];
}

function line(label: string, value: string): string {
  return `  ${colors.dim(label.padEnd(14))}${value}`;
}

function number(count: number): string {
  return count.toLocaleString('en-US');
}
