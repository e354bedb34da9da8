import { watchlistUri, type Activity } from './activity';
import type { Film } from './film';
import { activityOf, type Occurrence } from './occurrence';

/** Films have no URI: the provider's number names one on every instance. */
export function addToWatchlist(occurrence: Occurrence, { number, title }: Pick<Film, 'number' | 'title'>): Activity {
  const target = watchlistUri(occurrence.actor);
  return activityOf('Add', `${target} ${number}`, occurrence, { object: { type: 'Film', number, title }, target });
}
