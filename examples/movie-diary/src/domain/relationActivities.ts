import { activityId, type Activity } from './activity';
import { instanceOf } from './instance';
import { activityOf, type Occurrence } from './occurrence';

export function follow(occurrence: Occurrence, target: string): Activity {
  return activityOf('Follow', `${occurrence.actor} ${target}`, occurrence, { object: target });
}

/**
 * The answer to a Follow. The follower's instance is this same application: its Follow has the id that `follow` gives it
 * there, and `version` is the follower's own. So the id is worked out here, and the answer is the same again when it is
 * built again, with nothing looked up. When the Follow was published is the follower's knowledge, and left out.
 */
export function accept(occurrence: Occurrence, follower: string): Activity {
  const { actor, version } = occurrence;
  const id = activityId(instanceOf(follower), 'Follow', `${follower} ${actor}`, version);
  const object = { id, type: 'Follow', actor: follower, object: actor, version };
  return activityOf('Accept', `${actor} ${follower}`, occurrence, { object });
}

export function block(occurrence: Occurrence, target: string): Activity {
  return activityOf('Block', `${occurrence.actor} ${target}`, occurrence, { object: target });
}
