import { summarise } from '../domain/wrapUp';
import { WrapUpCompleted } from '../events/wrapUps';
import type { WrapUps } from '../ports/wrapUps';

/**
 * Goes on where an earlier attempt ended: one that was found in state generating is summed up again, one that is completed
 * is left alone. Of two at once, one completes it.
 */
export async function completeWrapUp(wrapUps: WrapUps, id: string): Promise<void> {
  await wrapUps.begin(id);
  const wrapUp = await wrapUps.find(id);
  if (wrapUp?.state !== 'generating') return;
  const { userId, year } = wrapUp;
  const summary = summarise(await wrapUps.reviewsOf(userId, year));
  const event = WrapUpCompleted.event({
    aggregateId: id,
    payload: { wrapUpId: id, userId, year, reviews: summary.reviews },
  });
  await wrapUps.complete(id, summary, [event]);
}
