import type { Database } from '../postgres/database';
import type { HandlerRegistry } from './registry';

/** Times stay for what is recorded already, and only for that: what was taken out and comes again begins again. */
const RECORD = `
  /* outbox: record handlers */
  UPDATE :schema.outbox_installation
     SET handler_events = handler_events || $1::jsonb,
         handlers = ARRAY(SELECT jsonb_object_keys(handler_events || $1::jsonb) ORDER BY 1),
         handlers_revision = handlers_revision + 1,
         handlers_since_revision = handlers_revision + 1,
         handlers_since = CASE WHEN handlers_since_revision = handlers_revision THEN coalesce((
           SELECT jsonb_object_agg(known.key, (
                    SELECT coalesce(jsonb_object_agg(type, since), '{}') FROM jsonb_each(known.value) AS t (type, since)
                     WHERE handler_events -> known.key ? type AND (handler_events || $1::jsonb) -> known.key ? type))
             FROM jsonb_each(handlers_since) AS known), '{}') ELSE '{}' END
   WHERE handler_events || $1::jsonb <> handler_events`;

async function recordEvents(db: Database, { eventsByHandler }: Recordable): Promise<void> {
  await db.query(RECORD, [JSON.stringify(eventsByHandler)]);
}

/**
 * Gives a time to each entry that has none. A statement of its own, since its time must come after the commit of the
 * first: from that commit on everybody finishes events against the new set, and not from a moment before.
 */
const STAMP = `
  /* outbox: stamp handlers */
  UPDATE :schema.outbox_installation
     SET handlers_since_revision = handlers_revision,
         handlers_since = (
           SELECT jsonb_object_agg(e.key, (
                    SELECT coalesce(jsonb_object_agg(t.type, coalesce(
                             CASE WHEN handlers_since_revision = handlers_revision THEN handlers_since -> e.key -> t.type END,
                             to_jsonb(ceil(extract(epoch FROM clock_timestamp()) * 1000)))), '{}')
                      FROM jsonb_array_elements_text(e.value) AS t (type)))
             FROM jsonb_each(handler_events) AS e)
   WHERE handler_events <> '{}'
     AND (handlers_since_revision <> handlers_revision
          OR EXISTS (SELECT FROM jsonb_each(handler_events) AS e, jsonb_array_elements_text(e.value) AS t (type)
                      WHERE NOT coalesce(handlers_since -> e.key ? t.type, false)))`;

async function stampHandlers(db: Database): Promise<void> {
  await db.query(STAMP);
}

type Recordable = Pick<HandlerRegistry, 'size' | 'eventsByHandler'>;

/**
 * Adds this worker's handlers to the recorded set. Nothing is ever taken out here: a worker of the version before a
 * rolling deployment knows fewer, and the events of the others must wait for those that know them. Any number of workers
 * may do it at once; where there is nothing new, nothing is written.
 */
export async function recordHandlers(db: Database, registry: Recordable): Promise<void> {
  if (registry.size === 0) return;
  await recordEvents(db, registry);
  await stampHandlers(db);
}

const READ = `/* outbox: read handlers */ SELECT handler_events AS events, handlers_revision::text AS revision FROM :schema.outbox_installation`;

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
