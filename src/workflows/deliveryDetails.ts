import type { DeliveryStatus } from './deliveryMessages';

const MAX_REASON = 300;

/** A delivery run's page in the Temporal UI, in Markdown: which handler failed, how often, with what, and when it is tried next. */
export function deliveryDetails({ eventId, handlers }: DeliveryStatus): string {
  return [
    `Event \`${eventId}\``,
    '',
    '| handler | state | attempts | next | last reason |',
    '| --- | --- | --- | --- | --- |',
    ...handlers.map(
      ({ handler, state, attempts, nextAt, reason }) =>
        `| ${handler} | **${state}** | ${attempts} | ${nextAt ?? ''} | ${cell(reason ?? '')} |`,
    ),
    '',
    'Signals: `retryNow` with `{}` or `{"handler": "…"}`, `skip` with `{"handler": "…", "reason": "…"}`. Query: `status`.',
  ].join('\n');
}

function cell(text: string): string {
  return text.slice(0, MAX_REASON).replace(/[|\n\r`]/g, ' ');
}
