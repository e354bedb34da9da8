import { setTimeout as sleep } from 'node:timers/promises';
import { readConsumerInfo } from '../broker/streamState';
import { managerOver, readStored } from '../consumer/storedEvents';
import { findUnowned } from '../deliveries/findUnowned';
import { ok, unknown, warning, usesStream, type Check, type Patient } from './finding';

const MAX_LOOKED_AT = 1_000;
const ALL_OWNED = `Of the ${MAX_LOOKED_AT} oldest messages that were delivered, each is acknowledged or has an owner.`;

const RECORDED = `/* outbox: read recorded events */ SELECT handler_events AS events FROM :schema.outbox_installation`;

/**
 * Messages that were delivered, are not acknowledged, and of which neither ledger nor deliveries know. One look alone says
 * nothing: what has just been delivered looks the same. What is still so when it must have been delivered again is told.
 */
export const unowned: Check = {
  name: 'unowned messages',
  concerns: usesStream,
  look: async (patient) => {
    const { config } = patient;
    const first = await look(patient);
    if (first === undefined) return [unknown(`There is no consumer ${config.nats.durable} to look at.`)];
    if (first.size === 0) return [ok(ALL_OWNED)];
    await sleep(config.nats.ackWaitMs);
    const again = (await look(patient)) ?? new Set();
    const left = [...first].filter((sequence) => again.has(sequence));
    if (left.length === 0) return [ok(ALL_OWNED)];
    const shown = left.slice(0, 10).join(', ');
    const minutes = Math.ceil((2 * config.handling.compareMs + config.relay.backoffMaxMs) / 60_000);
    return [
      warning(
        `${left.length} messages were delivered, and neither ledger nor deliveries know of them: sequence ${shown}${left.length > 10 ? ', …' : ''}. They wait in a worker for slow handlers, or belong to nobody.`,
        `A worker with handlers makes dead letters of what belongs to nobody within ${minutes} minutes: see that one runs (outbox worker --handlers <module>), then outbox dead list. One of them: nats stream get ${config.nats.stream} ${left[0]}`,
      ),
    ];
  },
};

/** @returns sequences; undefined when there is no consumer */
async function look(patient: Patient): Promise<Set<number> | undefined> {
  const { config, db } = patient;
  const link = await patient.nats();
  const { stream, durable } = config.nats;
  const info = link.connection && (await readConsumerInfo(link.connection, stream, durable));
  if (!info) return undefined;
  const { ack_floor: floor, delivered } = info;
  const count = Math.max(0, Math.min(MAX_LOOKED_AT, delivered.stream_seq - floor.stream_seq));
  const sequences = Array.from({ length: count }, (_, index) => floor.stream_seq + 1 + index);
  const stored = await readStored(await managerOver(link), config.nats, sequences);
  const recorded = (await db.query<{ events: Record<string, string[]> }>(RECORDED)).rows[0]?.events ?? {};
  const handlersOf = (type: string) => Object.keys(recorded).filter((handler) => recorded[handler]?.includes(type));
  const events = stored.map(({ event }) => ({ eventId: event.eventId, handlers: handlersOf(event.eventType) }));
  const found = await findUnowned(db, events, config.handling);
  return new Set(stored.filter(({ event }) => found.has(event.eventId)).map(({ sequence }) => sequence));
}
