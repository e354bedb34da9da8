import pino from 'pino';
import { ensureTopology } from '../src/broker/topology';
import type { Rig } from './rig';

/** Due events, a thousand aggregates, as `enqueueEvents` would have written them. */
const DUE = `
  INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, headers, payload)
  SELECT gen_random_uuid(), 'OrderPlaced', 'order', (n % 1000)::text, $3::jsonb,
         jsonb_build_object('n', n, 'note', repeat(md5(n::text), $2::integer), 'paid', true)
    FROM generate_series(1, $1::integer) AS n`;

/** 32 bytes each: about 400 bytes an event. */
const NOTE_HASHES = 11;

/**
 * The same start for every run that is compared: an empty stream, whose memory of ids is empty too, and a table that
 * holds nothing but `events` pending rows, vacuumed, with statistics, and on disk.
 */
export async function startAfresh(
  rig: Pick<Rig, 'config' | 'manager' | 'db' | 'nats'>,
  events = 0,
  noteHashes = NOTE_HASHES,
  headers: object | null = null,
): Promise<void> {
  const { config, manager, db } = rig;
  await manager.streams.delete(config.nats.stream).catch(() => undefined);
  await ensureTopology(rig.nats, config, pino({ level: 'silent' }));
  await db.query('TRUNCATE :schema.event_queue');
  if (events > 0) await db.query(DUE, [events, noteHashes, headers && JSON.stringify(headers)]);
  await db.query('VACUUM (ANALYZE) :schema.event_queue');
  await db.query('CHECKPOINT');
}

/** Adds due events without waking the relay. */
export async function addDue(rig: Rig, events: number): Promise<void> {
  await rig.db.query(DUE, [events, NOTE_HASHES, null]);
}
