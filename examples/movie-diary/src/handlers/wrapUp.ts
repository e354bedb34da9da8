import { defineHandler, type Handler } from 'temporal-outbox';
import type { Connection } from '../adapters/postgres/connection';
import { PostgresWrapUps } from '../adapters/postgres/wrapUps';
import { WrapUpRequested } from '../events/wrapUps';
import { completeWrapUp } from '../useCases/completeWrapUp';

/**
 * Safe to run again: it resumes a record found in state generating, and the completion, conditioned on that state, is one
 * transaction with `WrapUpCompleted`. Transactions of its own, so that whoever asks sees the state generating meanwhile.
 */
export function wrapUp(connection: Connection): Handler {
  const wrapUps = new PostgresWrapUps(connection);
  return defineHandler({
    name: 'wrap-up',
    events: [WrapUpRequested],
    run: ({ payload }) => completeWrapUp(wrapUps, payload.wrapUpId),
  });
}
