import { condition, workflowInfo } from '@temporalio/workflow';
import type { RelayMemory } from './state';
import { isReemitting, stepsOf } from './steps';

/** Event ids of one re-emit step: small enough for a payload, large enough for an operator's list. */
const CHUNK = 1_000;
/** What a continue-as-new may carry on, half a megabyte: one above the server's 2 MB is refused, and again at each retry. */
const MAX_CARRIED_IDS = 10_000;

/**
 * History of a run that a re-emit keeps from rolling over: at most so many times what it would have, and far from where
 * Temporal ends a run (51,200 events, 50 MB).
 */
const HELD_TO = { times: 20, events: 20_000, bytes: 20 * 1024 * 1024 };

/**
 * Carries out the re-emits that came by signal, one at a time: a flood of signals becomes a queue, not a flood of activities.
 * Never returns: a run that was about to roll over goes on when an update begins a re-emit, and so must this.
 *
 * @param mayBegin false when the next run is to have those that wait, as far as they can be carried
 * @param ended called between two
 */
export async function carryOutReemits(memory: RelayMemory, mayBegin: () => boolean, ended: () => void): Promise<never> {
  const isNextDue = () => memory.orders.length > 0 && (mayBegin() || !canBeCarried(memory));
  for (;;) {
    await condition(isNextDue);
    // Of what came with it, something may have let the run leave.
    if (!isNextDue()) continue;
    await carryOutNext(memory);
    ended();
  }
}

function canBeCarried(memory: RelayMemory): boolean {
  return memory.orderedIds <= MAX_CARRIED_IDS;
}

/** No re-emit is under way, and few enough of them wait for the next run to take them over. */
export function canHandOn(memory: RelayMemory): boolean {
  return !isReemitting() && canBeCarried(memory);
}

/**
 * No continue-as-new carries a re-emit that has begun, or more than fits into it. A run that left its loop all the same
 * would publish nothing for as long as that takes; only the bound of its history ends this.
 */
export function canRollOver(memory: RelayMemory): boolean {
  if (canHandOn(memory)) return true;
  const { historyLength, historySize } = workflowInfo();
  const limit = HELD_TO.times * memory.timings.rollOverEvents || HELD_TO.events;
  return historyLength >= Math.min(limit, HELD_TO.events) || historySize >= HELD_TO.bytes;
}

async function carryOutNext(memory: RelayMemory): Promise<void> {
  const order = memory.orders[0];
  if (!order) return;
  const steps = stepsOf(memory.timings);
  memory.reemitting = true;
  try {
    if ('all' in order) {
      memory.orders.shift();
      await steps.reemitAll(order.all, 'signal');
    } else {
      const { handler } = order;
      const ids = takeIds(memory, handler);
      await steps.reemit(handler === undefined ? { ids } : { ids, handler }, 'signal');
    }
  } finally {
    memory.reemitting = false;
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
