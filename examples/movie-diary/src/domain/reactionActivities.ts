import type { Activity } from './activity';
import { activityOf, type Occurrence } from './occurrence';

/** "Boost": the followers are shown the review too. */
export function announce(occurrence: Occurrence, reviewUri: string): Activity {
  return activityOf('Announce', `${occurrence.actor} ${reviewUri}`, occurrence, { object: reviewUri });
}

export function like(occurrence: Occurrence, reviewUri: string): Activity {
  return activityOf('Like', `${occurrence.actor} ${reviewUri}`, occurrence, { object: reviewUri });
}
