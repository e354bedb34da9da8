import type { Database } from '../postgres/database';
import type { HandlerRegistry } from './registry';

const RECORD = `
  UPDATE :schema.outbox_installation
     SET handler_events = handler_events || $1::jsonb,
         handlers = ARRAY(SELECT jsonb_object_keys(handler_events || $1::jsonb) ORDER BY 1),
         handlers_revision = handlers_revision + 1
   WHERE handler_events || $1::jsonb <> handler_events`;

/**
 * Adds this worker's handlers to the recorded set. Nothing is ever taken out here: a worker of the version before a
 * rolling deployment knows fewer, and the events of the others must wait for those that know them.
 */
export async function recordHandlers(db: Database, registry: HandlerRegistry): Promise<void> {
  if (registry.size > 0) await db.query(RECORD, [JSON.stringify(registry.eventsByHandler)]);
}

const READ = `SELECT handler_events AS events, handlers_revision::text AS revision FROM :schema.outbox_installation`;

/**
 * The recorded set of handlers, by event type. An event is finished against this set and not against what one worker
 * happens to know: else a worker without a new handler would finish events that the new one never sees.
 */
export class RecordedHandlers {
  private revision = '';
  private byType = new Map<string, string[]>();
  private names: string[] = [];
  private reading: Promise<void> | undefined;

  constructor(private readonly db: Database) {}

  /** Names of the handlers that take events of this type. */
  forType(type: string): readonly string[] {
    return this.byType.get(type) ?? [];
  }

  /** Recorded handlers that a worker with `registry` lacks. */
  missing(registry: HandlerRegistry): string[] {
    return this.names.filter((name) => !registry.get(name));
  }

  /** Reads the set when `revision` is not the one that was read last. */
  async follow(revision: string): Promise<void> {
    while (revision !== this.revision) {
      await this.refresh();
      if (BigInt(this.revision) >= BigInt(revision)) return;
    }
  }

  /** Reads the set again, once for all that ask in the same moment. */
  refresh(): Promise<void> {
    return (this.reading ??= this.read().finally(() => (this.reading = undefined)));
  }

  private async read(): Promise<void> {
    const { rows } = await this.db.query<{ events: Record<string, string[]>; revision: string }>(READ);
    const row = rows[0];
    if (!row) throw new Error(`outbox_installation of schema ${this.db.schema} is empty; restore its one row`);
    const byType = new Map<string, string[]>();
    for (const [handler, types] of Object.entries(row.events)) {
      for (const type of types) byType.set(type, [...(byType.get(type) ?? []), handler]);
    }
    this.byType = byType;
    this.names = Object.keys(row.events);
    this.revision = row.revision;
  }
}
