/** Holds up whoever comes to it until it is opened. */
export class Gate {
  isOpen = false;
  private arrive: () => void = () => undefined;
  private release: () => void = () => undefined;
  /** Resolves when somebody stands before it. */
  readonly reached = new Promise<void>((resolve) => (this.arrive = resolve));
  private readonly opened = new Promise<void>((resolve) => (this.release = resolve));

  async pass(): Promise<void> {
    this.arrive();
    await this.opened;
  }

  open(): void {
    this.isOpen = true;
    this.release();
  }
}
