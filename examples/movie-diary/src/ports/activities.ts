import type { NewEvent } from 'temporal-outbox/producer';
import type { Activity } from '../domain/activity';
import type { Tombstone } from '../domain/reviewActivities';

export type DeliveryState = 'requested' | 'delivered' | 'refused';

export interface Activities {
  find(id: string): Promise<Activity | undefined>;
  /**
   * Keeps an outgoing activity and asks for its delivery to these inboxes, in one transaction. What is there already,
   * activity or delivery, is left alone and has no second event.
   *
   * @param requested the event of the delivery to one inbox
   */
  add(
    userId: string,
    activity: Activity,
    inboxes: readonly string[],
    requested: (inbox: string) => NewEvent,
  ): Promise<void>;
  /** Puts this in the place of what they told, which is deleted. */
  withdraw(ids: readonly string[], tombstone: Tombstone): Promise<void>;
  /** Locks the delivery until the transaction ends, so that one activity is never on its way to an inbox twice at once. */
  lockDelivery(id: string, inbox: string): Promise<{ state: DeliveryState; userId: string } | undefined>;
  settleDelivery(id: string, inbox: string, state: 'delivered' | 'refused'): Promise<void>;
  /** Where any of these activities was sent to, or is to be. */
  inboxesOf(ids: readonly string[]): Promise<string[]>;
  /** Whether the inbox is one of an actor whom the user blocks now. */
  isBlocked(userId: string, inbox: string): Promise<boolean>;
}
