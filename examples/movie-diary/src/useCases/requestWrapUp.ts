import { wrapUpId, type WrapUp } from '../domain/wrapUp';
import { WrapUpRequested } from '../events/wrapUps';
import type { WrapUps } from '../ports/wrapUps';

/** A repeated request finds the wrap-up there, in whatever state it is. */
export async function requestWrapUp(
  wrapUps: WrapUps,
  { userId, year }: { readonly userId: string; readonly year: number },
): Promise<{ wrapUp: WrapUp; isNew: boolean }> {
  const id = wrapUpId(userId, year);
  const event = WrapUpRequested.event({ aggregateId: id, payload: { wrapUpId: id, userId, year } });
  const isNew = await wrapUps.request({ id, userId, year }, [event]);
  const wrapUp: WrapUp = { id, userId, year, state: 'requested', summary: null };
  return { wrapUp: isNew ? wrapUp : ((await wrapUps.find(id)) ?? wrapUp), isNew };
}
