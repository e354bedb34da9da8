import type { ConsumerStatus } from './consumerMessages';

/** More would be scrolled past; the query lists all. */
const MAX_SHOWN = 20;

/** The consumer's page in the Temporal UI, in Markdown: what an operator asks first. */
export function consumerDetails(status: ConsumerStatus): string {
  const { totals, lastError, workers } = status;
  const more = workers.length - MAX_SHOWN;
  return [
    `### ${status.state}`,
    '',
    `| worker | state | why |`,
    `| --- | --- | --- |`,
    ...workers
      .slice(0, MAX_SHOWN)
      .map(({ queue, state, reason }) => `| ${plain(queue)} | ${state} | ${plain(reason ?? '')} |`),
    ...(more > 0 ? [`| and ${more} more | | |`] : []),
    '',
    `| received | handled | handed over | returned | unsettled | receives | lost workers |`,
    `| --- | --- | --- | --- | --- | --- | --- |`,
    `| ${totals.received} | ${totals.handled} | ${totals.handedOver} | ${totals.returned} | ${status.unsettled} | ${totals.receives} | ${totals.lostWorkers} |`,
    '',
    lastError ? `**Last error** (${lastError.at}): ${plain(lastError.message)}` : 'No error so far.',
    '',
    'Signals: `pause`, `resume`, `wake`. Query: `status`.',
  ].join('\n');
}

function plain(text: string): string {
  return text.replace(/[|\n`]/g, ' ');
}
