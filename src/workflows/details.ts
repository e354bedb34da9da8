import type { RelayStatus } from './messages';

/** The relay's page in the Temporal UI, in Markdown: what an operator asks first. */
export function details(status: RelayStatus): string {
  const { totals, lastError } = status;
  return [
    `### ${status.state}`,
    '',
    `| lag | in flight | last pass | last worker |`,
    `| --- | --- | --- | --- |`,
    `| ${Math.round(status.lagMs)} ms | ${status.inFlight} | ${status.lastPassAt ?? 'none yet'} | ${status.worker ?? 'none yet'} |`,
    '',
    `| claimed | published | duplicates | unhandled | deferred | retrying | dead | returned | passes |`,
    `| --- | --- | --- | --- | --- | --- | --- | --- | --- |`,
    `| ${totals.claimed} | ${totals.published} | ${totals.duplicates} | ${totals.unhandled} | ${totals.deferred} | ${totals.retrying} | ${totals.dead} | ${totals.returned} | ${totals.passes} |`,
    '',
    lastError ? `**Last error** (${lastError.at}): ${lastError.message.replace(/[|\n`]/g, ' ')}` : 'No error so far.',
    '',
    'Signals: `pause`, `resume`, `wake`, `reemit` with `{"ids": ["…"]}`, `reemitAll` with `{}` or a filter. Query: `status`.',
  ].join('\n');
}
