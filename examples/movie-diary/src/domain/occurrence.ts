import { activityId, type Activity, type ActivityType } from './activity';

/** What every activity says of what happened, whatever it is. All of it comes from the event, so a repeat says the same. */
export interface Occurrence {
  readonly origin: string;
  /** Who did it, by URI. */
  readonly actor: string;
  /** Of the subject, after it. */
  readonly version: number;
  /** When. */
  readonly published: string;
}

/** @param subject what it happened to, as `activityId` takes it */
export function activityOf(
  type: ActivityType,
  subject: string,
  { origin, actor, version, published }: Occurrence,
  rest: Pick<Activity, 'object' | 'target'>,
): Activity {
  return { id: activityId(origin, type, subject, version), type, actor, version, published, ...rest };
}
