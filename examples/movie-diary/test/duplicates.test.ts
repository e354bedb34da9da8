import { jetstream } from '@nats-io/jetstream';
import { headers as newHeaders } from 'nats';
import { randomUUID } from 'node:crypto';
import { freePort } from '../../../src/servers/ports';
import { eventually } from '../../../test/support/eventually';
import type { StoredMessage, TestOutbox } from '../../../test/support/outbox';
import { EVENTS } from '../src/events';
import { endState } from './support/endState';
import { everyEvent } from './support/everyEvent';
import { TwoInstances } from './support/twoInstances';

const TIMEOUT_MS = 300_000;
/** Shorter than the test takes; past it the broker knows a message id no longer. */
const SHORT_WINDOW_NS = 200_000_000;

describe('a duplicate of every event type, published by hand', () => {
  let two: TwoInstances;
  let outbox: TestOutbox;
  let originals: StoredMessage[];
  let before: Awaited<ReturnType<typeof state>>;

  beforeAll(async () => {
    const ports = { first: await freePort(), second: await freePort(), metadata: await freePort() };
    two = await TwoInstances.start({ backend: 'nats', ports });
    outbox = two.outboxes.first;
    const origins = { first: two.first.instance.origin, second: two.second.instance.origin };
    await two.play(everyEvent(origins));
    const messages = await outbox.messages();
    originals = EVENTS.flatMap(({ type }) => messages.find(({ subject }) => subject.endsWith(`.${type}`)) ?? []);
    before = await state();
  }, TIMEOUT_MS);
  afterAll(() => two.close());

  it('there is one of each type to copy', () => {
    expect(originals.map(({ subject }) => subject.split('.').at(-1))).toEqual(EVENTS.map(({ type }) => type));
  });

  it('is dropped by the broker while it remembers the id', async () => {
    for (const message of originals) expect(await publishAgain(message, message.eventId)).toBe(true);
    expect(await state()).toEqual(before);
  });

  it(
    'changes nothing after that, as the ledger knows it',
    async () => {
      const { stream } = outbox.config().nats;
      await outbox.manager.streams.update(stream, { duplicate_window: SHORT_WINDOW_NS });
      for (const message of originals)
        await eventually(async () => !(await publishAgain(message, message.eventId)), 30_000, 'a copy in the stream');
      await handled();
      expect(await state()).toEqual(before);
    },
    TIMEOUT_MS,
  );

  it(
    'changes nothing under an id of its own, as every handler looks at what is there',
    async () => {
      const done = await ledgerEntries();
      for (const message of originals) expect(await publishAgain(message, randomUUID())).toBe(false);
      await handled();
      await two.settled();
      // They did run: nothing would be easier than to change nothing by doing nothing.
      expect(await ledgerEntries()).toBeGreaterThan(done);
      expect(await state()).toEqual(before);
    },
    TIMEOUT_MS,
  );

  /** Of both: what the first one sends again would be seen at the second. */
  async function state() {
    const { first, second } = two;
    return {
      first: await endState(first.instance, first.pool),
      second: await endState(second.instance, second.pool),
    };
  }

  /** @returns whether the broker took it for a duplicate */
  async function publishAgain({ subject, body, headers }: StoredMessage, id: string): Promise<boolean> {
    const copied = newHeaders();
    for (const [name, value] of Object.entries(headers)) copied.set(name, value);
    copied.set('Nats-Msg-Id', id);
    return (await jetstream(outbox.nats).publish(subject, body, { headers: copied })).duplicate;
  }

  /** Everything in the stream is acknowledged by the handlers' consumer. */
  async function handled(): Promise<void> {
    const { stream, durable } = outbox.config().nats;
    await eventually(
      async () => {
        const { num_pending, num_ack_pending } = await outbox.manager.consumers.info(stream, durable);
        return num_pending + num_ack_pending === 0;
      },
      60_000,
      'all messages acknowledged',
    );
  }

  async function ledgerEntries(): Promise<number> {
    const { rows } = await two.first.pool.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM "${outbox.database.schema}".processed_events WHERE status = 'done'`,
    );
    return rows[0]?.count ?? 0;
  }
});
