import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig, reconcile, type Reconciliation } from 'temporal-outbox';
import { openObjectStore } from '../../src/adapters/objectStore/open';
import type { Instance } from '../instance';
import type { Running } from '../job';
import type { Plan } from '../plan';
import type { Comparison } from './compare';
import { ids } from './entries';
import { compareFederation } from './federation';
import { compareInstance, type Reconciled } from './instance';

/** A message that was in the hands of a worker that died is given out again after its ack_wait of 10 s. */
const SETTLED_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 250;

/** Everything that can be compared, by id: plan, database, outbox, stream, ledger, objects, index, and the other instance. */
export async function reconcileAll(first: Running, second: Running, { expected }: Plan): Promise<Comparison[]> {
  const of = (name: 'first' | 'second') => ({
    reviews: expected.reviews[name],
    films: expected.films[name],
    watchlist: name === 'first' ? expected.watchlist : ids([]),
    wrapUps: name === 'first' ? expected.wrapUps : new Set<string>(),
  });
  const [one, two] = [reconciled(first), reconciled(second)];
  return [
    await compareOutbox(first),
    ...(await compareInstance(one, of('first'))),
    await compareOutbox(second),
    ...(await compareInstance(two, of('second'))),
    ...(await compareFederation(one, two)),
    ...(await compareFederation(two, one)),
  ];
}

function reconciled({ instance, pool }: Running): Reconciled {
  const { name, outboxSchema } = instance.options;
  const objects = openObjectStore(instance.env.OBJECT_STORE ?? '');
  return { name, pool, outboxSchema, origin: instance.origin, objects };
}

/** What `outbox reconcile` says, as one of the comparisons. */
async function compareOutbox({ instance }: Running): Promise<Comparison> {
  const { verdict, checked, lost, doubled, unhandled, dead, underWay } = await reconcileSettled(instance);
  const open = Object.entries(underWay).filter(([what, count]) => count > 0 && what !== 'scheduled');
  return {
    name: `${instance.options.name}: outbox, stream and ledger (outbox reconcile: ${verdict})`,
    agree: checked.events,
    missing: [
      ...lost.shown.map(({ eventId, eventType }) => `${eventId} ${eventType} in the stream`),
      ...unhandled.shown.map(({ eventId, eventType, handler }) => `${eventId} ${eventType} at ${handler}`),
    ],
    unexpected: doubled.shown.map(({ eventId, eventType }) => `${eventId} ${eventType} again in the stream`),
    different: [
      ...dead.shown.map(
        ({ eventId, eventType, handler }) => `${eventId} ${eventType} is dead at ${handler ?? 'the relay'}`,
      ),
      ...open.map(([what, count]) => `${count} ${what}`),
    ],
  };
}

/** What is handled is acknowledged a moment later, and under way until the broker says so. */
async function reconcileSettled(instance: Instance): Promise<Reconciliation> {
  const end = performance.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const result = await reconcile(loadConfig(instance.env), { limit: 1_000 });
    if (result.verdict !== 'not settled' || result.dead.count > 0 || performance.now() > end) return result;
    await sleep(LOOK_EVERY_MS);
  }
}
