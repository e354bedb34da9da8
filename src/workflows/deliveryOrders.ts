import { log } from '@temporalio/workflow';
import { NAME } from '../event';
import type { DeliverInput, SkipRequest, WaitingDelivery } from './deliveryMessages';

/** Stands on each line of a delivery run. */
export type AboutEvent = Pick<DeliverInput, 'eventId' | 'eventType'>;

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
    attempts: wholeOr(attempts, 0),
    dueInMs: wholeOr(dueInMs, 0),
    reason: typeof reason === 'string' ? reason : null,
    dead: dead === true,
  };
}

/** It becomes the name of an activity: one that Temporal refuses would fail the workflow task for ever. */
function isHandlerName(given: unknown): given is string {
  return typeof given === 'string' && NAME.test(given) && given !== 'skip';
}

function wholeOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : otherwise;
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
  if (typeof handler !== 'string' || typeof reason !== 'string' || reason.trim() === '') return undefined;
  return { handler, reason: reason.slice(0, 2_000) };
}
