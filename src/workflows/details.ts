import { duration } from '../duration';
import { facts, plain } from './markdown';
import type { RelayState, RelayStatus } from './messages';

/** What a state means for the events, where that is not plain. */
const MEANING: Partial<Record<RelayState, string>> = {
  paused: 'Nothing is published until `resume` is sent.',
  pausing: 'What is in flight is settled; then nothing is published until `resume` is sent.',
  'waiting for the broker': 'No worker has a broker. Events wait, without spending attempts.',
};

/** The relay's page in the Temporal UI, in Markdown: what an operator asks first. @param since when the state began */
export function details(status: RelayStatus, since: string): string {
  const { state, totals, lastError } = status;
  const { passes, continuedAsNew, ...events } = totals;
  return [
    `### ${state}`,
    `Since ${since}. ${MEANING[state] ?? ''}`,
    lastError ? `**Last error** (${lastError.at}): ${plain(lastError.message)}` : 'No error so far.',
    facts('at the last pass', {
      lag: duration(status.lagMs),
      'in flight': status.inFlight,
      when: status.lastPassAt ?? 'none yet',
      worker: status.worker ?? 'none yet',
    }),
    facts('in total', { ...events, passes, 'continued as new': continuedAsNew }),
    'Signals: `pause`, `resume`, `wake`, `reemit` with `{"ids": ["…"]}`, `reemitAll` with `{}` or a filter. Query: `status`.',
  ].join('\n\n');
}
