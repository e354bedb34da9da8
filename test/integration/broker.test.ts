import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { openBroker, type Broker, type Outcome } from '../../src/broker';
import type { ClaimedEvent } from '../../src/event';
import { TestOutbox, type Settings } from '../support/outbox';

/** The broker by itself: what one call of `publish` does. */
describe('a broker', () => {
  let outbox: TestOutbox;
  const logs: { level: number; msg: string }[] = [];

  beforeEach(async () => {
    logs.length = 0;
    outbox = await TestOutbox.create();
  });
  afterEach(() => outbox.close());

  it.each([31, 32, 33, 1_000, 1_001, 1_032, 2_031])(
    'stores %i events of one call once each, in order',
    async (count) => {
      const given = claimed(count);
      const outcomes = await publish(await open(), given);
      expect(outcomes.every((outcome) => outcome?.kind === 'published')).toBe(true);
      expect((await outbox.messages()).map(({ eventId }) => eventId)).toEqual(given.map(({ eventId }) => eventId));
    },
  );

  async function open(settings: Settings = {}): Promise<Broker> {
    const write = (line: string) => void logs.push(JSON.parse(line) as (typeof logs)[number]);
    const broker = await openBroker(outbox.config(settings), pino({ level: 'debug', base: null }, { write }));
    outbox.onClose(() => broker.close());
    return broker;
  }
});

async function publish(broker: Broker, given: readonly ClaimedEvent[]): Promise<(Outcome | undefined)[]> {
  const outcomes = new Map<string, Outcome>();
  await broker.publish(given, (event, outcome) => outcomes.set(event.id, outcome));
  return given.map(({ id }) => outcomes.get(id));
}

function claimed(count: number, over: Partial<ClaimedEvent> = {}): ClaimedEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${index + 1}`,
    eventId: randomUUID(),
    eventType: 'ThingHappened',
    aggregateType: 'thing',
    aggregateId: 'a',
    companyId: null,
    orgUnitId: null,
    payload: `{"n": ${index}}`,
    headers: null,
    version: 1,
    correlationId: null,
    causationId: null,
    occurredAt: '2026-01-02T03:04:05.678000Z',
    deferrals: 0,
    failureReason: null,
    ...over,
  }));
}
