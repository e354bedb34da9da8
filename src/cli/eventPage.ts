import { colors } from './colors';
import type { FoundMessage } from '../broker/findMessage';
import type { FoundEvent, FoundRow } from '../deliveries/lookUp';
import type { RunState } from './deliveryRun';
import type { Half } from './half';
import { duration, plain, table } from './output';

/** One handler of the event, whatever is known of it. */
export interface HandlerState {
  readonly handler: string;
  /** As ledger and delivery together say. */
  readonly state: 'done' | 'skipped' | 'dead' | 'waiting' | 'running' | 'not begun';
  readonly attempts: number | null;
  /** Done, dead, tried next or begun at. */
  readonly at: string | null;
  readonly dueInMs: number | null;
  readonly reason: string | null;
}

/** What `outbox show --json` prints. */
export interface EventPage {
  readonly eventId: string;
  readonly database: Half<FoundEvent & { readonly handlers: readonly HandlerState[] }>;
  readonly run: Half<{ readonly workflowId: string; readonly link: string | null; readonly state: RunState | null }>;
  readonly stream: FoundMessage;
}

/** Ledger and deliveries side by side, and the recorded handlers of its type that have neither. */
export function handlerStates({ row, ledger, deliveries, recorded }: FoundEvent): HandlerState[] {
  const type = row?.eventType ?? deliveries[0]?.eventType;
  const takers = Object.keys(recorded).filter((name) => type !== undefined && recorded[name]?.includes(type));
  const names = new Set([...ledger, ...deliveries].map(({ handler }) => handler).concat(takers));
  return [...names].sort().map((handler) => {
    const claim = ledger.find((each) => each.handler === handler);
    const delivery = deliveries.find((each) => each.handler === handler);
    const base = { handler, attempts: delivery?.attempts ?? null, dueInMs: null, reason: delivery?.reason ?? null };
    if (delivery?.state === 'skipped') return { ...base, state: 'skipped', at: claim?.processedAt ?? null };
    if (claim?.status === 'done') return { ...base, state: 'done', at: claim.processedAt };
    if (claim) return { ...base, state: 'running', at: claim.startedAt };
    if (delivery?.state === 'dead') return { ...base, state: 'dead', at: delivery.failedAt };
    if (delivery) return { ...base, state: 'waiting', at: delivery.nextAt, dueInMs: delivery.dueInMs };
    return { ...base, state: 'not begun', at: null };
  });
}

export function renderEvent(page: EventPage): string {
  const { database, run } = page;
  return [
    `${colors.bold('Event')}  ${page.eventId}`,
    ...(database.available ? rowLines(database) : [`  ${colors.red('unavailable')}: ${database.reason}`]),
    '',
    `${colors.bold('Stream')}  ${streamLine(page.stream)}`,
    ...(database.available ? ['', colors.bold('Handlers'), ...handlerLines(database.handlers)] : []),
    '',
    ...runLines(run),
  ].join('\n');
}

function rowLines({ row, deliveries }: FoundEvent): string[] {
  if (row) return outboxLines(row);
  const [copy] = deliveries;
  return [
    line('outbox', 'it has no row there'),
    ...(copy ? [line('type', plain(copy.eventType)), line('aggregate', aggregate(copy)), line('source', plain(copy.source))] : []),
  ]; // prettier-ignore
}

function outboxLines(row: FoundRow): string[] {
  const optional: [string, string | null][] = [
    ['tenant', row.companyId && `${row.companyId}${row.orgUnitId ? `, unit ${row.orgUnitId}` : ''}`],
    ['correlation', row.correlationId],
    ['causation', row.causationId],
    ['headers', row.headerNames.length > 0 ? row.headerNames.join(', ') : null],
    ['next try', row.retryAt],
    ['claimed', row.claimedAt],
    ['published', row.publishedAt],
    ['gave up', row.failedAt],
    ['reason', row.reason],
  ];
  return [
    line('status', row.status === 'dead_lettered' ? colors.red(row.status) : row.status),
    line('type', `${plain(row.eventType)}, version ${row.version}`),
    line('aggregate', aggregate(row)),
    line('payload', `${row.payloadBytes.toLocaleString('en-US')} bytes`),
    line('occurred', row.occurredAt ?? 'unknown'),
    line('due', row.availableAt ?? 'unknown'),
    line('spent', `${row.attempts} attempts, ${row.deferrals} deferrals`),
    ...optional.flatMap(([label, value]) => (value ? [line(label, plain(value))] : [])),
  ];
}

function handlerLines(handlers: readonly HandlerState[]): string[] {
  if (handlers.length === 0) return ['  no recorded handler takes events of its type'];
  const rows = handlers.map(({ handler, state, attempts, at, dueInMs, reason }) => [
    plain(handler),
    state === 'dead' ? colors.red(state) : state,
    attempts === null ? '' : `${attempts}`,
    dueInMs === null ? (at ?? '') : `${at} (${dueInMs > 0 ? `in ${duration(dueInMs)}` : 'now'})`,
    plain(reason ?? ''),
  ]);
  return [table(['HANDLER', 'STATE', 'ATTEMPTS', 'AT', 'REASON'], rows)];
}

function runLines(run: EventPage['run']): string[] {
  if (!run.available) return [`${colors.bold('Delivery run')}  ${colors.red('unavailable')}: ${run.reason}`];
  const { workflowId, state, link } = run;
  if (!state) return [`${colors.bold('Delivery run')}  none; a healthy event has none`];
  return [
    `${colors.bold('Delivery run')}  ${workflowId}`,
    line('status', state.status === 'FAILED' ? colors.red(state.status) : state.status),
    line('started', state.startedAt),
    ...(state.closedAt ? [line('closed', state.closedAt)] : []),
    line('page', link ?? `temporal workflow show --workflow-id ${workflowId}`),
  ];
}

function streamLine(stream: FoundMessage): string {
  if (stream.kind === 'found') return `${stream.stream}, sequence ${stream.sequence}, stored ${stream.storedAt}`;
  return stream.kind === 'away' ? `${colors.red('NATS is away')}: ${stream.reason}` : `not found: ${stream.reason}`;
}

function aggregate({ aggregateType, aggregateId }: { aggregateType: string; aggregateId: string }): string {
  return plain(`${aggregateType}/${aggregateId}`);
}

function line(label: string, value: string): string {
  return `  ${colors.dim(label.padEnd(14))}${value}`;
}
