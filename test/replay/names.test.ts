import type { temporal } from '@temporalio/proto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../package.json';
import type { ConsumerActivities } from '../../src/activities/consumer';
import type { MaintenanceActivities } from '../../src/activities/maintenance';
import type { RelayActivities } from '../../src/activities/relay';
import type * as workflows from '../../src/workflows';
import * as consumerMessages from '../../src/workflows/consumerMessages';
import * as deliveryMessages from '../../src/workflows/deliveryMessages';
import * as relayMessages from '../../src/workflows/messages';
import { readHistory, workflowTypeOf } from './historyFile';

type Type = keyof typeof workflows;
type Event = temporal.api.history.v1.IHistoryEvent;

/** An activity that is named after its handler. */
const OF_A_HANDLER = 'of a handler';
// By type, so that a new activity without its line here does not compile.
const relay: Record<keyof RelayActivities, true> = { claim: true, publish: true, mark: true, fence: true, reemit: true, reemitAll: true }; // prettier-ignore
const consumer: Record<keyof ConsumerActivities, true> = { receive: true, acknowledge: true };
const maintenance: Record<keyof MaintenanceActivities, true> = { planMaintenance: true, prune: true };
const ACTIVITIES: Readonly<Record<Type, readonly string[]>> = {
  relay: Object.keys(relay),
  consumer: Object.keys(consumer),
  maintenance: Object.keys(maintenance),
  deliverEvent: ['skip', OF_A_HANDLER],
};
const MESSAGES: Readonly<Record<Type, object>> = {
  relay: relayMessages,
  consumer: consumerMessages,
  maintenance: {},
  deliverEvent: deliveryMessages,
};
/** What no history can show, as `type: kind name`, with the reason. Queries leave no trace in one, and are not asked for. */
const NOT_RECORDED: Readonly<Record<string, string>> = {};

const directory = join(__dirname, version);
const histories = readdirSync(directory).map((file) => readHistory(join(directory, file)));
const eventsOf = (type: Type): Event[] =>
  histories.filter((history) => workflowTypeOf(history) === type).flatMap(({ events }) => events ?? []);

/** Each activity with how it ended, each signal and each update that the histories of a workflow show. */
function shownBy(type: Type): Set<string> {
  const shown = new Set<string>();
  for (const { events } of histories.filter((history) => workflowTypeOf(history) === type)) {
    const named = new Map<string, string>();
    for (const event of events ?? []) {
      const { activityTaskScheduledEventAttributes: scheduled, activityTaskCompletedEventAttributes: completed } =
        event;
      if (scheduled) named.set(String(event.eventId), scheduled.activityType?.name ?? '');
      if (completed) shown.add(`activity ${activityOf(type, named.get(String(completed.scheduledEventId)) ?? '')}`);
      const { workflowExecutionSignaledEventAttributes: signal } = event;
      if (signal) shown.add(`signal ${signal.signalName}`);
      const { workflowExecutionUpdateAcceptedEventAttributes: update } = event;
      if (update) shown.add(`update ${update.acceptedRequest?.input?.name}`);
    }
  }
  return shown;
}

function activityOf(type: Type, name: string): string {
  return type === 'deliverEvent' && name !== 'skip' ? OF_A_HANDLER : name;
}

/** What a signal of this name was sent with, in the histories of a workflow. */
function inputsOf(type: Type, name: string): unknown[] {
  const signals = eventsOf(type).map((event) => event.workflowExecutionSignaledEventAttributes);
  return signals
    .filter((signal) => signal?.signalName === name)
    .flatMap((signal) => signal?.input?.payloads ?? [])
    .map(({ data }) => JSON.parse(Buffer.from(data ?? []).toString()) as unknown);
}

describe('the recorded histories of this version', () => {
  const types = Object.keys(ACTIVITIES) as Type[];

  it.each(types)('show each activity of %s come to its end, and each of its signals and updates', (type) => {
    const messages = Object.values(MESSAGES[type]) as { type: string; name: string }[];
    const wanted = [
      ...ACTIVITIES[type].map((name) => `activity ${name}`),
      ...messages.filter((it) => ['signal', 'update'].includes(it.type)).map((it) => `${it.type} ${it.name}`),
    ];
    const shown = shownBy(type);
    const absent = wanted.filter((each) => !shown.has(each)).map((each) => `${type}: ${each}`);
    const excused = Object.keys(NOT_RECORDED).filter((each) => each.startsWith(`${type}: `));
    expect(absent.sort()).toEqual(excused.sort());
  });

  it('show each patch that a workflow asks for', () => {
    const sources = join(__dirname, '..', '..', 'src', 'workflows');
    const text = readdirSync(sources).map((file) => readFileSync(join(sources, file), 'utf8'));
    const asked = [...text.join('\n').matchAll(/\b(?:deprecatePatch|patched)\(\s*'([^']+)'/g)].map(([, id]) => id);
    const markers = types.flatMap(eventsOf).map((event) => event.markerRecordedEventAttributes);
    const shown = markers
      .filter((marker) => marker?.markerName === 'core_patch')
      .flatMap((marker) => Object.values(marker?.details ?? {}))
      .flatMap(({ payloads }) => payloads ?? [])
      .map(({ data }) => (JSON.parse(Buffer.from(data ?? []).toString()) as { id: string }).id);
    expect(asked.length).toBeGreaterThan(0);
    expect([...new Set(shown)].sort()).toEqual([...new Set(asked)].sort());
  });

  it('show the requests that go another way than the plain ones', () => {
    const handler: unknown = expect.any(String);
    expect(inputsOf('relay', 'reemit')).toContainEqual({ ids: [expect.any(String)], handler });
    expect(inputsOf('relay', 'reemitAll')).toContainEqual({ companyId: expect.any(String) });
    expect(inputsOf('relay', 'reemitAll')).toContainEqual({
      ...{ eventType: expect.any(String), since: expect.any(String) },
      handler,
    });
    expect(inputsOf('deliverEvent', 'deliver')).toContainEqual([expect.objectContaining({ dead: true })]);
  });

  it('show a claim that is fenced, with the pause after it and, for a relay that is paused, without', () => {
    const { events } = readHistory(join(directory, 'relay-fenced.json'));
    const named = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
    const [woken = -1, paused = -1] = named.flatMap((name, at) => (name === 'fence' ? [at] : []));
    const pauses = (events ?? []).flatMap((event, at) => (event.timerStartedEventAttributes ? [at] : []));
    expect(pauses).toEqual([expect.any(Number)]);
    expect(pauses[0]).toBeGreaterThan(woken);
    expect(pauses[0]).toBeLessThan(paused);
  });

  it('show a dead delivery that is skipped while another waits', () => {
    const { events } = readHistory(join(directory, 'deliver-dead-skipped.json'));
    const dead = (events ?? []).findIndex((event) => {
      const details = event.activityTaskFailedEventAttributes?.failure?.applicationFailureInfo?.details?.payloads ?? [];
      return details.some(({ data }) =>
        Buffer.from(data ?? [])
          .toString()
          .includes('"kind":"dead"'),
      );
    });
    expect(dead).toBeGreaterThan(-1);
    const skips = (events ?? []).slice(dead).map((it) => it.activityTaskScheduledEventAttributes?.activityType?.name);
    expect(skips.filter((name) => name === 'skip')).toHaveLength(2);
  });
});
