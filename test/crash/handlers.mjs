/**
 * Handlers for workers that are killed: one in the ledger's transaction with a row in `effects`, one outside with lines
 * in the journal. The payload tells what they do, both or the one that it names:
 * `{ handler, ms, fails: <attempts>, abort: <place>, hold: <attempt>, until: <file>, deaf: <to its signal> }`.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandler } from '../../dist/index.js';

const directory = process.env.CRASH_DIRECTORY ?? '.';

function note(line) {
  appendFileSync(join(directory, 'journal'), `${JSON.stringify({ ...line, pid: process.pid, at: Date.now() })}\n`);
}

async function run(handler, { eventId, payload }, { attempt, signal }, effect) {
  const entry = { run: randomUUID(), eventId, handler, attempt };
  // What the payload orders is meant for one of the two.
  const orders = payload.handler === undefined || payload.handler === handler ? payload : {};
  const reach = (place) => {
    globalThis.crashPoint?.(`handler ${place}`, `${handler} ${attempt}`);
    if (orders.abort === place) process.abort();
  };
  const pause = (ms) => sleep(ms, undefined, orders.deaf ? {} : { signal });
  note({ kind: 'begin', ...entry });
  signal.addEventListener('abort', () => note({ kind: 'signal', ...entry, reason: String(signal.reason) }));
  try {
    reach('begin');
    await pause((orders.ms ?? 10) / 2);
    // Until the test says so: for what has to be at work while something happens to its worker.
    while (orders.until && attempt === (orders.hold ?? 1) && !existsSync(join(directory, orders.until)))
      await pause(20);
    await effect();
    reach('middle');
    await pause((orders.ms ?? 10) / 2);
    if (attempt <= (orders.fails ?? 0)) throw new Error(`attempt ${attempt} is to fail`);
  } catch (error) {
    note({ kind: 'failed', ...entry, reason: error.message });
    throw error;
  }
  note({ kind: 'end', ...entry });
  reach('end');
}

export const handlers = [
  defineHandler({
    name: 'transactional',
    events: ['ThingHappened', 'InTransaction'],
    transactional: true,
    run: (event, context) =>
      run('transactional', event, context, async () => {
        await context.tx.query('INSERT INTO effects (event_id, attempt) VALUES ($1, $2)', [
          event.eventId,
          context.attempt,
        ]);
      }),
  }),
  defineHandler({
    name: 'external',
    events: ['ThingHappened', 'Outside'],
    run: (event, context) => run('external', event, context, () => Promise.resolve()),
  }),
];
