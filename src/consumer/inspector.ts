import type { NatsLink } from '../broker/link';
import type { Config } from '../config';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import type { Metrics } from '../telemetry/metrics';
import { within } from '../within';
import { Advisories } from './advisories';
import type { ExhaustedLog } from './exhausted';
import { Graveyard } from './graveyard';
import { Holders } from './holders';
import type { JetStreamSource } from './jetstreamSource';
import { Unowned } from './unowned';

/**
 * A start waits so long for the first look at most: while a server is away there is nothing to see, and what the other
 * workers are asked then has been read.
 */
const FIRST_LOOK_MS = 3_000;

/**
 * Looks after the messages that the broker delivers no more: by its advisories at each sweep, and every few minutes by
 * comparing what is unacknowledged with ledger and deliveries.
 */
export class Inspector {
  private readonly advisories: Advisories;
  private readonly unowned: Unowned;
  private readonly holders: Holders;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private looking: Promise<void> = Promise.resolve();
  private comparedAt = -Infinity;

  constructor(
    private readonly deps: {
      readonly db: Database;
      readonly link: NatsLink;
      readonly config: Config;
      readonly logger: Logger;
      readonly metrics?: Metrics | undefined;
      readonly exhausted: ExhaustedLog;
      readonly source: Pick<JetStreamSource, 'holds' | 'pulledMs'>;
      readonly handlersFor: (type: string) => readonly string[];
    },
  ) {
    const graveyard = new Graveyard(deps);
    const { source } = deps;
    this.holders = new Holders(deps.link, deps.config.nats, (sequence) => source.holds(sequence));
    const shared = { ...deps, graveyard, holders: this.holders };
    this.advisories = new Advisories(shared);
    this.unowned = new Unowned({ ...shared, clock: () => source.pulledMs });
  }

  /** The first look comes before anything is pulled: the next pull moves the ack floor past what is exhausted. */
  async start(): Promise<void> {
    this.looking = this.look();
    await within(FIRST_LOOK_MS, this.looking);
    this.schedule();
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    this.holders.close();
    await within(FIRST_LOOK_MS, this.looking);
  }

  private schedule(): void {
    if (this.closed) return;
    this.timer = setTimeout(() => {
      this.looking = this.look().finally(() => this.schedule());
    }, this.deps.config.handling.sweepMs).unref();
  }

  /** Side by side: neither waits for the answers that the other asks for, nor ends with its failure. */
  private async look(): Promise<void> {
    await Promise.all([this.quietly(() => this.compare()), this.quietly(() => this.advisories.look())]);
  }

  private async compare(): Promise<void> {
    if (performance.now() - this.comparedAt < this.deps.config.handling.compareMs) return;
    await this.unowned.look();
    this.comparedAt = performance.now();
  }

  private async quietly(look: () => Promise<unknown>): Promise<void> {
    try {
      await look();
    } catch (error) {
      // PostgreSQL or the broker is away; both are said elsewhere, and the next look finds the same.
      if (!this.closed) this.deps.logger.debug(`Unowned messages could not be looked for: ${(error as Error).message}`);
    }
  }
}
