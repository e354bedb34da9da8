import type { ConsumerState, ConsumerStatus } from './consumerMessages';
import { facts, plain } from './markdown';

/** More would be scrolled past; the query lists all. */
const MAX_SHOWN = 20;

/** What a state means for the events, where that is not plain. */
const MEANING: Partial<Record<ConsumerState, string>> = {
  paused: 'Nothing is received until `resume` is sent.',
  pausing: 'What was received is handled; then nothing is received until `resume` is sent.',
  'waiting for the broker': 'No worker has a broker. Events wait in the stream, without spending deliveries.',
  'without workers': 'No worker with handlers runs. Events wait in the stream.',
};

/** The consumer's page in the Temporal UI, in Markdown: what an operator asks first. @param since when the state began */
export function consumerDetails(status: ConsumerStatus, since: string): string {
  const { state, totals, lastError, workers, unsettled } = status;
  const { received, handled, handedOver, returned, acknowledgedElsewhere, receives, lostWorkers, continuedAsNew } =
    totals;
  const shown = workers.slice(0, MAX_SHOWN).map(({ queue, ...worker }) => [plain(queue), stateOf(worker)] as const);
  const more = workers.length - MAX_SHOWN;
  return [
    `### ${state}`,
    `Since ${since}. ${MEANING[state] ?? ''}`,
    lastError ? `**Last error** (${lastError.at}): ${plain(lastError.message)}` : 'No error so far.',
    facts('worker', { ...Object.fromEntries(shown), ...(more > 0 && { [`and ${more} more`]: '' }) }),
    facts('in total', {
      ...{ received, handled, 'handed over to delivery runs': handedOver, 'given back to the broker': returned },
      ...{ 'not acknowledged yet': unsettled, 'acknowledged by another worker': acknowledgedElsewhere },
      ...{ receives, 'lost workers': lostWorkers, 'continued as new': continuedAsNew },
    }),
    'Signals: `pause`, `resume`, `wake`. Query: `status`.',
  ].join('\n\n');
}

function stateOf({ state, reason }: { state: string; reason: string | null }): string {
  return state === 'waiting' && reason ? `waiting: ${plain(reason)}` : state;
}
