import { log } from '@temporalio/workflow';
import { NAME } from '../event';
import { storable } from '../handlers/storable';
import type { DeliverInput, SkipRequest, WaitingDelivery } from './deliveryMessages';

/** Stands on each line of a delivery run. */
export type AboutEvent = Pick<DeliverInput, 'eventId' | 'eventType'>;

/** As long as a timer of Temporal may be asked for, and as large as the columns are that hold such numbers. */
const MOST = 2_147_483_647;
/** As much as is stored of a reason. */
const MAX_REASON = 2_000;

/** What a `deliver` signal hands over; what cannot be read is logged and left out, and never fails the run (C26). */
export function readDeliveries(input: unknown, about: AboutEvent): WaitingDelivery[] {
  const given: unknown[] = Array.isArray(input) ? input : [];
  const read = given.map(readDelivery).filter((delivery) => delivery !== undefined);
  if (!Array.isArray(input) || read.length < given.length)
    log.warn('A deliver signal was ignored in part: workers send it, with handlers that wait', about);
  return read;
}

function readDelivery(input: unknown): WaitingDelivery | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  const { handler, attempts, dueInMs, reason, dead } = input as Record<string, unknown>;
  if (!isHandlerName(handler)) return undefined;
  return {
    handler,
    attempts: Math.floor(countOr(attempts, 0)),
    dueInMs: countOr(dueInMs, 0),
    reason: typeof reason === 'string' ? storable(reason, MAX_REASON) : null,
    dead: dead === true,
  };
}

/** It becomes the name of an activity: one that Temporal refuses would fail the workflow task for ever. */
function isHandlerName(given: unknown): given is string {
  return typeof given === 'string' && NAME.test(given) && given !== 'skip';
}

/** Beyond the limit there is no date to show, and no timer: the workflow task would fail for ever. */
function countOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' && value >= 0 ? Math.min(value, MOST) : otherwise;
}

/** @returns the handler to try now; undefined means all that wait */
export function readRetryNow(input: unknown): string | undefined {
  const handler = typeof input === 'object' && input !== null ? (input as { handler?: unknown }).handler : undefined;
  return typeof handler === 'string' ? handler : undefined;
}

/** A skip without a reason is none: whoever looks later must learn why there is no effect. */
export function readSkip(input: unknown): SkipRequest | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  const { handler, reason } = input as Record<string, unknown>;
  if (typeof handler !== 'string' || typeof reason !== 'string') return undefined;
  // As it is stored: of a NUL nothing is left, and the step would be refused at every try.
  const said = storable(reason, MAX_REASON);
  return said.trim() === '' ? undefined : { handler, reason: said };
}
