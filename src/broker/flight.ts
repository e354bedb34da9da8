import type { Outcome } from './broker';

/** Something sent whose outcome is open. Settled once: by the answer, or by the loss of the connection. */
export class Flight {
  settled = false;

  constructor(
    private readonly land: (outcome: Outcome) => void,
    private readonly leave: () => void,
  ) {}

  settle(outcome: Outcome): void {
    if (this.cancel()) this.land(outcome);
  }

  /** @returns false when it was settled before */
  cancel(): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.leave();
    return true;
  }
}
