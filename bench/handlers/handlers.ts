/*
 * The handlers that `npm run bench -- handlers` measures, as a user's module: `outbox worker --handlers <module>`. Written
 * as JavaScript to the bench's directory (writeHandlers.ts), so that neither worker nor bare loop has a transpiler in it.
 */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as Product from '../../src/handlers/defineHandler';

// eslint-disable-next-line @typescript-eslint/no-require-imports -- where this runs, the package has no name
const { defineHandler } = require(process.env.BENCH_DEFINE_HANDLER ?? '') as typeof Product;

/** While this file exists, every payment fails. */
const OUTAGE = process.env.BENCH_OUTAGE;
/** In a worker with this, what takes part in the recovery never ends; it is killed with that in hand. */
const HANGS = process.env.BENCH_HANGS === 'on';
const FOR_EVER_MS = 3_600_000;

const EFFECT = 'INSERT INTO bench_effects (handler, event_id, n) VALUES ($1, $2, $3)';

interface Payload {
  readonly n: number;
  readonly failsOnce?: boolean;
}

/** One insert: all that the drain, the latency and the steady traffic do. */
const orders = defineHandler({
  name: 'orders',
  events: ['OrderPlaced'],
  transactional: true,
  run: async ({ eventId, payload }, { tx, attempt }) => {
    const { n, failsOnce } = payload as Payload;
    await tx.query(EFFECT, ['orders', eventId, n]);
    if (failsOnce && attempt === 1) throw new Error('fails once');
  },
});

const payments = defineHandler({
  name: 'payments',
  events: ['PaymentDue'],
  transactional: true,
  run: async ({ eventId, payload }, { tx }) => {
    if (OUTAGE && existsSync(OUTAGE)) throw new Error('the bank is away');
    await tx.query(EFFECT, ['payments', eventId, (payload as Payload).n]);
  },
});

const shipments = defineHandler({
  name: 'shipments',
  events: ['OrderShipped'],
  transactional: true,
  run: async ({ eventId, payload }, { tx, signal }) => {
    if (HANGS) await sleep(FOR_EVER_MS, undefined, { signal });
    await tx.query(EFFECT, ['shipments', eventId, (payload as Payload).n]);
  },
});

/** An effect outside the database, which costs nothing here. */
const letters = defineHandler({
  name: 'letters',
  events: ['LetterDue'],
  run: async (_event, { signal }) => {
    if (HANGS) await sleep(FOR_EVER_MS, undefined, { signal });
  },
});

export const handlers = [orders, payments, shipments, letters];
