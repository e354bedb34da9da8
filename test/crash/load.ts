import { setTimeout as sleep } from 'node:timers/promises';
import { enqueue, events } from '../support/events';
import type { CrashWorld } from './world';

const EVERY_MS = 50;
const AT_ONCE = 5;

/**
 * Enqueues 100 events a second until it is stopped, through outages of PostgreSQL too: as of a real application, what
 * could not be written then was not written.
 */
export class Load {
  private stopped = false;
  private readonly running: Promise<void>;

  constructor(private readonly world: CrashWorld) {
    this.running = this.run();
  }

  /** Resolves when nothing more is enqueued. @returns the ids of all events */
  async stop(): Promise<string[]> {
    this.stopped = true;
    await this.running;
    return this.ids();
  }

  /** As the outbox has them: a commit whose answer was lost counts. */
  async ids(): Promise<string[]> {
    const { rows } = await this.world.db.query<{ id: string }>(`SELECT event_id::text AS id FROM :schema.event_queue`);
    return rows.map(({ id }) => id);
  }

  private async run(): Promise<void> {
    for (let n = 0; !this.stopped; n++) {
      const begun = performance.now();
      await enqueue(
        this.world.db,
        events(AT_ONCE, (index) => ({ aggregateId: `a${(n * AT_ONCE + index) % 200}` })),
      ).catch(() => undefined);
      await sleep(Math.max(1, EVERY_MS - (performance.now() - begun)));
    }
  }
}
