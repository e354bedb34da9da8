import { filmOf } from '../domain/film';
import { Refusal } from '../domain/refusal';
import { watchEventId, type WatchEvent } from '../domain/watchEvent';
import { MovieDiscovered } from '../events/films';
import { WatchEventReceived } from '../events/integrations';
import type { WatchEvents } from '../ports/watchEvents';

export interface ReceiveWatchEvent {
  readonly userId: string;
  readonly source: string;
  readonly externalId: string;
  readonly film: { readonly number: number; readonly title: string };
  /** With any offset. */
  readonly watchedAt: string;
}

/** Media servers send a webhook again when they missed the answer: it is found there. @throws Refusal */
export async function receiveWatchEvent(
  watchEvents: WatchEvents,
  command: ReceiveWatchEvent,
): Promise<{ watchEvent: WatchEvent; isNew: boolean }> {
  const { userId, source, externalId } = command;
  const film = filmOf(command.film.number, command.film.title);
  const id = watchEventId(userId, source, externalId);
  const watchedAt = new Date(command.watchedAt).toISOString();
  const watchEvent = { id, userId, source, externalId, filmId: film.id, watchedAt };
  const received = WatchEventReceived.event({
    aggregateId: id,
    payload: { watchEventId: id, userId, filmId: film.id, source, watchedAt },
  });
  const discovered = MovieDiscovered.event({
    aggregateId: film.id,
    payload: { filmId: film.id, number: film.number, title: film.title },
  });
  if (await watchEvents.add(watchEvent, film, { received: [received], filmDiscovered: [discovered] }))
    return { watchEvent, isNew: true };
  const known = await watchEvents.find(id);
  if (known?.filmId !== film.id)
    throw new Refusal('conflict', 'This event was received before, with another film; send it under an id of its own');
  return { watchEvent: known, isNew: false };
}
