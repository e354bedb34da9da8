import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { ObjectStore } from '../../src/ports/objectStore';
import { compare, type Comparison, type Entries } from './compare';
import { entries, ids } from './entries';

export interface ExpectedOfInstance {
  readonly reviews: Entries;
  readonly films: ReadonlySet<string>;
  readonly watchlist: Entries;
  /** Users whose year was summed up. */
  readonly wrapUps: ReadonlySet<string>;
}

/** An instance as it is looked at from outside. */
export interface Reconciled {
  readonly name: string;
  readonly origin: string;
  readonly pool: Pool;
  readonly outboxSchema: string;
  readonly objects: ObjectStore;
}

/** What one instance holds, against the plan and in itself: what was derived must agree with what it was derived from. */
export async function compareInstance(
  { name, pool, outboxSchema, objects }: Reconciled,
  expected: ExpectedOfInstance,
): Promise<Comparison[]> {
  const inOutbox = (sql: string) => entries(pool, sql.replaceAll(':outbox', `"${outboxSchema}"`));
  const of = (what: string) => `${name}: ${what}`;
  return [
    compare(of('reviews, as planned'), expected.reviews, await entries(pool, REVIEWS)),
    compare(of('films, as planned'), ids(expected.films), await entries(pool, 'SELECT id::text FROM films')),
    compare(of('watchlist, as planned'), expected.watchlist, await entries(pool, WATCHLIST)),
    compare(
      of('wrap-ups, and what they count'),
      await countedNow(pool, expected.wrapUps),
      await entries(pool, WRAP_UPS),
    ),
    compare(of('profiles of films'), await entries(pool, 'SELECT id::text FROM films'), await entries(pool, PROFILES)),
    compare(of('profiles of people'), await entries(pool, PEOPLE), await entries(pool, PERSON_PROFILES)),
    compare(of('search index'), await entries(pool, SEARCHABLE), await entries(pool, INDEXED)),
    compare(of('posters stored'), await entries(pool, POSTERS_WANTED), await entries(pool, POSTERS_STORED)),
    compare(of('object store'), await entries(pool, OBJECTS), await contents(objects)),
    compare(
      of('one ImageStored for each film that stayed'),
      await inOutbox(POSTERS_KEPT),
      await inOutbox(IMAGES_STORED),
    ),
  ];
}

const REVIEWS = `
  SELECT id::text, concat_ws(' ', film_id, rating, quote_nullable(comment), watched_on) AS value FROM reviews`;

const WATCHLIST = `
  SELECT concat_ws(' ', u.name, w.film_id) AS id FROM watchlist_entries w JOIN users u ON u.id = w.user_id WHERE listed`;

const WRAP_UPS = `
  SELECT u.name || ' ' || w.year AS id, w.summary ->> 'reviews' AS value
    FROM wrap_ups w JOIN users u ON u.id = w.user_id WHERE w.state = 'completed'`;

async function countedNow(pool: Pool, wrapUps: ReadonlySet<string>): Promise<Entries> {
  const counted = await entries(
    pool,
    `SELECT u.name || ' ' || extract(year FROM r.watched_on) AS id, count(*)::text AS value
       FROM reviews r JOIN users u ON u.id = r.user_id GROUP BY 1`,
  );
  return new Map([...wrapUps].map((id) => [id, counted.get(id) ?? '0']));
}

const PROFILES = `SELECT film_id::text AS id FROM film_profiles`;
const PEOPLE = `SELECT id::text FROM people`;
const PERSON_PROFILES = `SELECT person_id::text AS id FROM person_profiles`;

const SEARCHABLE = `
  SELECT 'film ' || id AS id, title AS value FROM films UNION ALL SELECT 'person ' || id, name FROM people`;
const INDEXED = `SELECT kind || ' ' || id AS id, title AS value FROM search_documents`;

const POSTERS_WANTED = `SELECT film_id::text AS id FROM film_profiles WHERE poster_url IS NOT NULL`;
const POSTERS_STORED = `SELECT film_id::text AS id FROM posters WHERE stored_at IS NOT NULL`;

/** The original, byte for byte, and its conversion. */
const OBJECTS = `
  SELECT object_key AS id, sha256 AS value FROM posters WHERE stored_at IS NOT NULL
  UNION ALL
  SELECT 'posters/' || film_id || '/w200.webp', 'a WebP image' FROM posters WHERE stored_at IS NOT NULL`;

async function contents(objects: ObjectStore): Promise<Entries> {
  const found = new Map<string, string>();
  for (const key of await objects.list('posters/')) {
    const body = await objects.get(key);
    const isWebP = body?.toString('latin1', 8, 12) === 'WEBP';
    found.set(
      key,
      isWebP
        ? 'a WebP image'
        : createHash('sha256')
            .update(body ?? '')
            .digest('hex'),
    );
  }
  return found;
}

/** A film that was deleted on the way and came back has had a poster before: it may have two. */
const POSTERS_KEPT = `
  SELECT film_id::text AS id, '1' AS value FROM posters
   WHERE NOT EXISTS (SELECT FROM :outbox.event_queue WHERE event_type = 'MovieDeleted' AND aggregate_id = film_id::text)`;
const IMAGES_STORED = `
  SELECT aggregate_id AS id, count(*)::text AS value FROM :outbox.event_queue q
   WHERE event_type = 'ImageStored'
     AND NOT EXISTS (SELECT FROM :outbox.event_queue
                      WHERE event_type = 'MovieDeleted' AND aggregate_id = q.aggregate_id)
   GROUP BY 1`;
