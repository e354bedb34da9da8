import type { CarriedDelivery, DeliveryStatus } from './deliveryMessages';

export type DeliveryState = DeliveryStatus['handlers'][number]['state'];

/** One handler of the event, as the run knows it. Times are workflow times. */
export interface Delivery {
  readonly handler: string;
  state: DeliveryState;
  attempts: number;
  dueAt: number;
  reason: string | null;
  /** End the wait: an operator asked, or something is to be skipped. */
  nudged: boolean;
  skip: string | undefined;
}

/** What a delivery run remembers: all that its page shows. */
export class DeliveryMemory {
  private readonly deliveries = new Map<string, Delivery>();

  get all(): readonly Delivery[] {
    return [...this.deliveries.values()];
  }

  get(handler: string): Delivery | undefined {
    return this.deliveries.get(handler);
  }

  get waiting(): readonly Delivery[] {
    return this.all.filter(({ state }) => state === 'waiting' || state === 'running');
  }

  /**
   * @returns the delivery when it begins to wait; one that waits already is only brought forward, by a signal that knows
   *   of all its attempts. What an attempt under way will say is newer than any signal
   */
  receive({ handler, attempts, dueInMs, reason, dead, skip }: CarriedDelivery, now: number): Delivery | undefined {
    const known = this.deliveries.get(handler);
    const dueAt = now + Math.max(0, dueInMs);
    if (known?.state === 'running') return undefined;
    if (known?.state === 'waiting') {
      if (attempts >= known.attempts) known.dueAt = Math.min(known.dueAt, dueAt);
      return undefined;
    }
    const state = dead ? 'dead' : 'waiting';
    const delivery: Delivery = { handler, state, attempts, dueAt, reason, nudged: skip !== undefined, skip };
    this.deliveries.set(handler, delivery);
    return dead ? undefined : delivery;
  }

  status(eventId: string): DeliveryStatus {
    return {
      eventId,
      handlers: this.all.map(({ handler, state, attempts, dueAt, reason }) => ({
        ...{ handler, state, attempts, reason },
        nextAt: state === 'waiting' ? new Date(dueAt).toISOString() : null,
      })),
    };
  }

  carry(now: number): CarriedDelivery[] {
    return this.all
      .filter(({ state }) => state === 'waiting' || state === 'dead')
      .map(({ handler, attempts, dueAt, reason, state, nudged, skip }) => ({
        ...{ handler, attempts, reason, dueInMs: nudged ? 0 : Math.max(0, dueAt - now) },
        dead: state === 'dead',
        ...(skip !== undefined && { skip }),
      }));
  }
}
