import type { EventFields, Logger } from '../logger';
import type { WaitingDelivery } from '../workflows/deliveryMessages';

/**
 * A line for each handler that waits for the run. At debug: while Temporal is away there is one for each event, and the
 * outage has a line of its own.
 */
export function runNotStarted(
  logger: Logger,
  event: Pick<EventFields, 'eventId' | 'eventType'> & { readonly reason: string },
  deliveries: readonly WaitingDelivery[],
): void {
  for (const { handler, attempts: attempt } of deliveries)
    logger.debug({ ...event, handler, attempt }, 'A delivery run could not be started');
}
