/**
 * The handlers of a storm. Each writes down when it was entered and how it ended, by a clock that no fault moves. Which
 * handler takes which event, `checker/expected.ts` says in its own words.
 */
import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const require = createRequire(import.meta.url);
const { defineHandler, enqueueEvents } = require(join(process.env.TORTURE_ROOT, 'dist', 'index.js'));

const file = join(process.env.TORTURE_JOURNAL, `worker-${process.pid}`);
const now = () => Number(process.hrtime.bigint() / 1_000n) / 1_000;
const note = (line) => appendFileSync(file, `${JSON.stringify({ ...line, pid: process.pid, at: now() })}\n`);

/** How many attempts of this handling fail: the same in every process. */
function failures(type, eventId, handler) {
  if (type !== 'Flaky') return 0;
  return createHash('sha256').update(`${eventId} ${handler}`).digest()[0] % 4;
}

/** Of a usual handling, of a slow one, and of one that keeps its whole process busy. */
function duration({ type, payload }) {
  if (type === 'Slow') return 500 + (payload.n % 5) * 500;
  return 5 + (payload.n % 20);
}

/**
 * Nothing else of this process goes on meanwhile: no timer, no renewal, no heartbeat. Until another process has been
 * through the event and has had the time to commit, so that this one comes too late for certain.
 */
function block(eventId, mostMs) {
  const rest = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  const over = () =>
    readdirSync(process.env.TORTURE_JOURNAL)
      .filter((name) => name.startsWith('worker') && name !== `worker-${process.pid}`)
      .flatMap((name) => readFileSync(join(process.env.TORTURE_JOURNAL, name), 'utf8').split('\n'))
      .some((line) => line.startsWith('{"kind":"end"') && line.includes(eventId));
  for (const begun = now(); now() < begun + mostMs && !over();) rest(100);
  rest(1_000);
}

/** No statement ends by itself whose answer the network has swallowed: without this a handler would not heed its signal. */
function heeding(signal, work) {
  work.catch(() => undefined);
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

async function addEffect({ tx, attempt }, { eventId }, handler) {
  const sql = 'INSERT INTO public.effects (event_id, handler, attempt) VALUES ($1, $2, $3)';
  await tx.query(sql, [eventId, handler, attempt]);
}

async function run(handler, event, { attempt, signal }, effect) {
  const { eventId, type, payload } = event;
  const entry = { run: randomUUID(), eventId, handler, attempt };
  note({ kind: 'begin', ...entry });
  try {
    await sleep(duration(event), undefined, { signal });
    await heeding(signal, effect());
    if (attempt <= failures(type, eventId, handler)) throw new Error(`attempt ${attempt} is to fail`);
    if (type === 'Doomed') throw new Error('it is to fail for ever');
    if (type === 'Blocking' && attempt === 1) block(eventId, payload.blockMs);
  } catch (error) {
    const cut = signal.aborted ? { aborted: true, reason: String(signal.reason) } : { reason: String(error.message) };
    note({ kind: 'failed', ...entry, ...cut });
    throw error;
  }
  note({ kind: 'end', ...entry });
}

export const handlers = [
  defineHandler({
    name: 'book',
    events: ['Placed', 'Flaky', 'Chained', 'Doomed'],
    transactional: true,
    run: (event, context) =>
      run('book', event, context, async () => {
        const { tx } = context;
        await addEffect(context, event, 'book');
        if (event.type !== 'Chained') return;
        const follow = { type: 'Placed', aggregateType: 'follow', aggregateId: event.aggregateId };
        const given = { ...follow, payload: { n: event.payload.n }, causationId: event.eventId };
        const [id] = await enqueueEvents(tx, [given], { schema: process.env.OUTBOX_SCHEMA });
        await tx.query('INSERT INTO public.business (event_id, type, producer, cause) VALUES ($1, $2, $3, $4)', [
          ...[id, 'Placed', 'book', event.eventId],
        ]);
      }),
  }),
  // By itself: in a transaction that others share it would be rolled back for their sake.
  defineHandler({
    name: 'hold',
    events: ['Blocking'],
    transactional: true,
    run: (event, context) => run('hold', event, context, () => addEffect(context, event, 'hold')),
  }),
  defineHandler({
    name: 'tell',
    events: ['Placed', 'Flaky', 'Slow', 'Doomed'],
    run: (event, context) => run('tell', event, context, () => Promise.resolve()),
  }),
];
