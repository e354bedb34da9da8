import type { DeliveryStatus } from './deliveryMessages';
import { facts, plain } from './markdown';

/**
 * A delivery run's page in the Temporal UI, in Markdown: which handler failed, how often, with what, and when it is tried
 * next.
 *
 * @param maxAttempts after which a handler is dead, as the worker that started the run had it
 */
export function deliveryDetails({ eventId, handlers }: DeliveryStatus, maxAttempts?: number): string {
  return [
    `Event \`${eventId}\``,
    ...handlers.map(({ handler, state, attempts, nextAt, reason }) =>
      facts(`**${handler}**`, {
        state: `**${state}**`,
        attempts: maxAttempts === undefined ? attempts : `${attempts} of ${maxAttempts}`,
        ...(nextAt && { 'next attempt': nextAt }),
        'last failure': plain(reason ?? 'none'),
      }),
    ),
    'Signals: `retryNow` with `{}` or `{"handler": "…"}`, `skip` with `{"handler": "…", "reason": "…"}`. Query: `status`.',
    `Of a dead handler: \`outbox reemit ${eventId}\`, or the signal \`reemit\` of the relay.`,
  ].join('\n\n');
}
