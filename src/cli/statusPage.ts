import { colors } from './colors';
import type { HandlerCount } from '../deliveries/handlerCounts';
import type { Backlog } from '../outbox/backlog';
import type { MaintenanceRuns } from '../temporal/maintenanceRuns';
import type { ConsumerState, ConsumerStatus } from '../workflows/consumerMessages';
import type { RelayState, RelayStatus } from '../workflows/messages';
import type { Half } from './half';
import { duration, plain, table } from './output';
import type { Rates } from './rates';

/** What `outbox status --json` prints. A part is null where the settings have no use for it. */
export interface Status {
  readonly relay: Half<RelayStatus & { readonly workflowId: string }>;
  readonly consumer: Half<ConsumerStatus & { readonly workflowId: string }> | null;
  readonly stream: Half<{
    readonly stream: string;
    readonly durable: string;
    readonly messages: number;
    /** Not given to a handler's worker yet; null as long as nobody has created the durable, as below. */
    readonly undelivered: number | null;
    /** Delivered and not acknowledged. */
    readonly inHand: number | null;
    readonly redelivered: number | null;
  }> | null;
  readonly database: Half<
    Backlog & {
      readonly schema: string;
      readonly handlers: readonly HandlerCount[];
      /** When this was read, ISO 8601, by the database's clock. */
      readonly at: string;
    }
  >;
  /** As Temporal lists them, some seconds late; failed ones for as long as the namespace keeps them. */
  readonly deliveryRuns: Half<{ readonly open: number; readonly failed: number }>;
  /** The clean-up's schedule. */
  readonly maintenance: Half<MaintenanceRuns & { readonly scheduleId: string }>;
  readonly rates: Rates;
}

const COLOURS: Record<RelayState | ConsumerState, (text: string) => string> = {
  starting: colors.cyan,
  running: colors.green,
  receiving: colors.green,
  pausing: colors.yellow,
  paused: colors.yellow,
  'waiting for the broker': colors.red,
  'without workers': colors.red,
  'continuing as new': colors.cyan,
  ending: colors.yellow,
};

/** A workflow of a newer build may have states that are not known here. */
const coloured = (state: RelayState | ConsumerState) => (state in COLOURS ? COLOURS[state](state) : state);

/** Blocks of aligned lines; a part that could not be read is one line with its reason. */
export function renderStatus(status: Status): string {
  const { relay, consumer, stream, database } = status;
  return [
    relayLines(relay, status.rates),
    ...(consumer ? [consumerLines(consumer, status.rates)] : []),
    ...(stream ? [streamLines(stream)] : []),
    databaseLines(database, status.rates),
    handlerLines(database, status.deliveryRuns),
    maintenanceLines(status.maintenance),
  ]
    .map((block) => block.join('\n'))
    .join('\n\n');
}

function relayLines(relay: Status['relay'], rates: Rates): string[] {
  if (!relay.available) return unavailable('Relay', relay.reason);
  const { totals, outage } = relay;
  const since = outage ? outage.since : relay.pausedSince;
  return [
    `${colors.bold('Relay')}  ${relay.workflowId}`,
    line('state', `${coloured(relay.state)}${since ? ` since ${since}` : ''}`),
    ...(outage?.reason ? [line('why', colors.red(plain(outage.reason)))] : []),
    line('rate', rateOf(rates.published, 'published', rates)),
    line('lag', duration(relay.lagMs)),
    line('in flight', number(relay.inFlight)),
    line('published', numbers([['published', totals.published], ['duplicates', totals.duplicates]]).replace(' published', '')),
    line('not published', numbers([['deferred', totals.deferred], ['dead', totals.dead], ['returned', totals.returned]])),
    ...(totals.retrying > 0 ? [line('retrying', number(totals.retrying))] : []),
    line('passes', number(totals.passes)),
    line('last pass', relay.lastPassAt ?? 'none yet'),
    line('worker', relay.worker ?? 'none yet'),
    lastError(relay.lastError),
  ]; // prettier-ignore
}

function consumerLines(consumer: NonNullable<Status['consumer']>, rates: Rates): string[] {
  if (!consumer.available) return unavailable('Consumer', consumer.reason);
  const { totals, workers, state, pausedSince } = consumer;
  const waiting = workers.filter((worker) => worker.state === 'waiting');
  return [
    `${colors.bold('Consumer')}  ${consumer.workflowId}`,
    line('state', `${coloured(state)}${pausedSince ? ` since ${pausedSince}` : ''}`),
    line('rate', rateOf(rates.handled, 'handled', rates)),
    line('workers', numbers([['joined', workers.length], ['waiting', waiting.length], ['lost', totals.lostWorkers]])),
    ...waiting.slice(0, 5).map(({ queue, reason }) => line('', colors.red(plain(`${queue}: ${reason ?? 'waits'}`)))),
    line('events', numbers([['received', totals.received], ['handled', totals.handled], ['handed over', totals.handedOver], ['returned', totals.returned]])),
    line('unsettled', number(consumer.unsettled)),
    lastError(consumer.lastError),
  ]; // prettier-ignore
}

function streamLines(stream: NonNullable<Status['stream']>): string[] {
  if (!stream.available) return unavailable('Stream', stream.reason);
  const { undelivered, inHand, redelivered } = stream;
  return [
    `${colors.bold('Stream')}  ${stream.stream}`,
    line('messages', number(stream.messages)),
    line('durable', undelivered === null ? 'none yet' : stream.durable),
    ...(undelivered === null ? [] : [line('for handlers', numbers([['not delivered', undelivered], ['in hand', inHand ?? 0], ['redelivered', redelivered ?? 0]]))]),
  ]; // prettier-ignore
}

function databaseLines(database: Status['database'], rates: Rates): string[] {
  if (!database.available) return unavailable('Outbox', database.reason);
  return [
    `${colors.bold('Outbox')}  schema ${database.schema}`,
    ...(rates.enqueued === null ? [] : [line('rate', rateOf(rates.enqueued, 'enqueued', rates))]),
    line('pending', number(database.pending)),
    line('deferred', number(database.deferred)),
    line('processing', number(database.processing)),
    line('retrying', number(database.retrying)),
    line('dead letters', red(database.deadLettered)),
    line('handlers', `${number(database.waitingDeliveries)} waiting, ${red(database.deadDeliveries)} dead`),
    line('due now', number(database.due)),
    line('oldest due', database.oldestDueMs === null ? 'none' : `${duration(database.oldestDueMs)} ago`),
  ];
}

function handlerLines(database: Status['database'], runs: Status['deliveryRuns']): string[] {
  const counts = database.available ? database.handlers : [];
  const rows = counts.map(({ handler, waiting, dead, skipped, recorded }) => [
    plain(handler),
    number(waiting),
    red(dead),
    number(skipped),
    recorded ? '' : '(not recorded any more)',
  ]);
  return [
    `${colors.bold('Delivery runs')}  ${runs.available ? `${number(runs.open)} open, ${number(runs.failed)} failed` : `${colors.red('unavailable')}: ${runs.reason}`}`,
    ...(rows.length === 0 ? [] : [table(['HANDLER', 'WAITING', 'DEAD', 'SKIPPED', ''], rows)]),
  ];
}

function maintenanceLines(maintenance: Status['maintenance']): string[] {
  if (!maintenance.available) return unavailable('Clean-up', maintenance.reason);
  const { scheduleId, last, nextAt, paused } = maintenance;
  return [
    `${colors.bold('Clean-up')}  ${scheduleId}`,
    line(
      'last run',
      last ? `${last.at}, ${last.status === 'failed' ? colors.red('failed') : last.status}` : 'none yet',
    ),
    line('next run', paused ? colors.yellow('none, the schedule is paused') : (nextAt ?? 'none')),
  ];
}

function rateOf(rate: number | null, what: string, { over }: Rates): string {
  return rate === null ? 'not known' : `${number(rate)} ${what} a second, over ${over}`;
}

function lastError(error: { message: string; at: string } | null): string {
  return line('last error', error ? colors.red(`${plain(error.message)} (${error.at})`) : 'none');
}

function unavailable(half: string, reason: string): string[] {
  return [`${colors.bold(half)}  ${colors.red('unavailable')}`, `  ${reason}`];
}

function line(label: string, value: string): string {
  return `  ${colors.dim(label.padEnd(14))}${value}`;
}

function numbers(entries: readonly [string, number][]): string {
  return entries.map(([name, count]) => `${number(count)} ${name}`).join(', ');
}

function red(count: number): string {
  return count > 0 ? colors.red(number(count)) : number(count);
}

function number(count: number): string {
  return count.toLocaleString('en-US');
}
