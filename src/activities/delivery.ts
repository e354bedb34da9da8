import { activityInfo, heartbeat } from '@temporalio/activity';
import { setTimeout as sleep } from 'node:timers/promises';
import { settleRow } from '../deliveries/settleRow';
import { skipDelivery } from '../deliveries/skip';
import type { AttemptResult, SkipOrder } from '../workflows/deliveryMessages';
import { Deliverer, type AttemptRequest, type DeliveryDeps } from './deliverer';
import { heartbeating } from './heartbeating';

const LOOK_EVERY_MS = 500;

/** An activity for each handler, and one for handlers that this worker lacks. */
export function createDeliveryActivities(deps: DeliveryDeps) {
  const deliverer = new Deliverer(deps);
  const activities: Record<string, (request: AttemptRequest) => Promise<AttemptResult>> = {};
  for (const name of deps.registry.names)
    activities[name] = heartbeating((request: AttemptRequest) => deliverer.attempt(name, request));
  return {
    ...activities,
    default: heartbeating((request: AttemptRequest) => deliverer.attempt(activityInfo().activityType, request)),
    skip: heartbeating((order: SkipOrder) => skip(deps, order)),
  };
}

/** Waits for an attempt that is under way: its effect may come about, and then there is nothing to give up. */
async function skip(
  { db, config, logger }: DeliveryDeps,
  { eventId, eventType, handler, attempts, reason }: SkipOrder,
): Promise<void> {
  let result = await skipDelivery(db, eventId, handler, reason, config.handling);
  while (result === 'running') {
    heartbeat();
    await sleep(LOOK_EVERY_MS);
    result = await skipDelivery(db, eventId, handler, reason, config.handling);
  }
  await settleRow(db, [eventId]);
  const about = { eventId, eventType, handler, attempt: attempts, reason };
  if (result === 'skipped') logger.info(about, 'A handler was skipped on purpose');
  else logger.info(about, `A skip came too late: ${result}`);
}
