import { condition } from '@temporalio/workflow';
import type { RelayMemory } from './state';
import { stepsOf } from './steps';

/** Event ids of one re-emit step: small enough for a payload, large enough for an operator's list. */
const CHUNK = 1_000;
/** What a continue-as-new may carry on, half a megabyte: one above the server's 2 MB is refused, and again at each retry. */
const MAX_CARRIED_IDS = 10_000;

/** Carries out the re-emits that came by signal, one at a time: a flood of signals becomes a queue, not a flood of activities. */
export async function carryOutReemits(memory: RelayMemory): Promise<void> {
  for (;;) {
    await condition(() => memory.orders.length > 0 || memory.leaving);
    if (memory.leaving && canBeCarried(memory)) return;
    await carryOutNext(memory);
  }
}

/** Few enough of them wait for the next run to take them over. */
export function canBeCarried(memory: RelayMemory): boolean {
  return memory.orderedIds <= MAX_CARRIED_IDS;
}

export async function carryOutNext(memory: RelayMemory): Promise<void> {
  const order = memory.orders[0];
  if (!order) return;
  const steps = stepsOf(memory.timings);
  if ('all' in order) {
    memory.orders.shift();
    await steps.reemitAll(order.all, 'signal');
  } else {
    const { handler } = order;
    const ids = takeIds(memory, handler);
    await steps.reemit(handler === undefined ? { ids } : { ids, handler }, 'signal');
  }
}

/** Ids of the orders of one handler at the front, as many as one step takes: 300 single signals are a few steps. */
function takeIds({ orders }: RelayMemory, handler: string | undefined): string[] {
  const ids: string[] = [];
  for (let order = orders[0]; order && 'ids' in order && ids.length < CHUNK; order = orders[0]) {
    if (order.handler !== handler) break;
    const taken = order.ids.slice(0, CHUNK - ids.length);
    ids.push(...taken);
    if (taken.length < order.ids.length) orders[0] = { ...order, ids: order.ids.slice(taken.length) };
    else orders.shift();
  }
  return ids;
}
