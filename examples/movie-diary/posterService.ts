import { defineHandler } from 'temporal-outbox';
import { MovieDiscovered } from './movieDiscovered';

/** Where the service listens; the job starts it, and tells its worker. */
export const POSTER_SERVICE_URL = 'POSTER_SERVICE_URL';

/** Far above what a healthy call takes, and so short that one without an answer is soon made again. */
const TIMEOUT_MS = 1_000;

/**
 * Orders a poster for each film from a service outside the database. What it calls may fail, hang, or have its effect
 * and not say so: each attempt carries the same key, by which the service sees that it is the same order.
 */
export const posterService = defineHandler({
  name: 'poster-service',
  events: [MovieDiscovered],
  timeoutMs: TIMEOUT_MS,
  run: async ({ eventId, payload: { number, title } }, { signal, idempotencyKey }) => {
    const answer = await fetch(`${process.env[POSTER_SERVICE_URL]}/posters`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: JSON.stringify({ film: number, title, eventId }),
      // Ends the call when its time is over, when the worker stops, or when another worker has taken the event over.
      signal,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the poster service answered ${answer.status}: ${text}`);
  },
});
