import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { OUTAGE_CODE } from '../postgres/outage';
import { sqlRefusal } from '../sqlFailure';

const MAX_MESSAGE = 500;

/**
 * The one place where errors become Temporal's. Bounded, and without stack or cause: an error's further fields can
 * quote a row, and a history is kept for long and read by many.
 */
export function asFailure(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error;
  const code = (error as { code?: unknown } | null)?.code;
  const type = typeof code === 'string' ? code : error instanceof Error ? error.name : 'Unknown';
  const message = messageOf(error);
  // Tried again without noise, as waiting is all that helps.
  const outage =
    OUTAGE_CODE.test(type) || /^(Connection terminated|timeout exceeded when trying to connect)/.test(message);
  return ApplicationFailure.create({
    message: message.slice(0, MAX_MESSAGE),
    type,
    nonRetryable: false,
    ...(outage && { category: ApplicationFailureCategory.BENIGN }),
  });
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'an activity threw what is no Error';
  return sqlRefusal(error) ?? error.message;
}
