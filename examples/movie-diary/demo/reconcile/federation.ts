import { compare, type Comparison } from './compare';
import { entries } from './entries';
import type { Reconciled } from './instance';

/** What one instance has told the other, against what the other holds of it. */
export async function compareFederation(teller: Reconciled, listener: Reconciled): Promise<Comparison[]> {
  const of = (what: string) => `${teller.name} to ${listener.name}: ${what}`;
  const own = [`${teller.origin}/`];
  const theirs = [`${listener.origin}/`];
  const actors = await followed(listener, teller);
  return [
    compare(
      of('activities sent and received'),
      await entries(teller.pool, DELIVERED, theirs),
      await entries(listener.pool, RECEIVED, [listener.origin, ...own]),
    ),
    compare(of('deliveries that are open'), new Map(), await entries(teller.pool, OPEN, theirs)),
    compare(
      of('follows'),
      await entries(listener.pool, FOLLOWINGS, [listener.origin, teller.origin]),
      await entries(teller.pool, FOLLOWERS, [teller.origin, listener.origin]),
    ),
    compare(
      of('reviews of those who are followed'),
      await entries(teller.pool, REVIEWS, [teller.origin, actors]),
      await entries(listener.pool, REMOTE_REVIEWS, [actors]),
    ),
    compare(
      of('names and moves of those who are followed'),
      await entries(teller.pool, PROFILES, [teller.origin, actors]),
      await entries(listener.pool, REMOTE_PROFILES, [actors]),
    ),
    compare(
      of('likes and announcements'),
      await entries(teller.pool, REACTIONS, [teller.origin, ...theirs]),
      await entries(listener.pool, REMOTE_REACTIONS, own),
    ),
  ];
}

const DELIVERED = `
  SELECT activity_id || ' ' || inbox AS id FROM activity_deliveries
   WHERE state = 'delivered' AND starts_with(inbox, $1)`;
const RECEIVED = `
  SELECT r.id || ' ' || $1 || '/users/' || u.name || '/inbox' AS id
    FROM received_activities r JOIN users u ON u.id = r.user_id WHERE starts_with(r.actor, $2)`;
const OPEN = `
  SELECT activity_id || ' ' || inbox AS id FROM activity_deliveries
   WHERE state = 'requested' AND starts_with(inbox, $1)`;

const FOLLOWINGS = `
  SELECT $1 || '/users/' || u.name || ' ' || f.actor AS id, f.version::text AS value
    FROM remote_followings f JOIN users u ON u.id = f.user_id
   WHERE f.state = 'accepted' AND starts_with(f.actor, $2 || '/')`;
const FOLLOWERS = `
  SELECT f.actor || ' ' || $1 || '/users/' || u.name AS id, f.version::text AS value
    FROM remote_followers f JOIN users u ON u.id = f.user_id
   WHERE f.active AND starts_with(f.actor, $2 || '/')`;

/** Actors of the other instance whom somebody here follows. */
async function followed(listener: Reconciled, teller: Reconciled): Promise<string[]> {
  const { rows } = await listener.pool.query<{ actor: string }>(
    `SELECT DISTINCT actor FROM remote_followings WHERE state = 'accepted' AND starts_with(actor, $1)`,
    [`${teller.origin}/`],
  );
  return rows.map(({ actor }) => actor);
}

const REVIEWS = `
  SELECT $1 || '/reviews/' || r.id AS id, concat_ws(' ', f.number, r.rating, r.watched_on, r.version, quote_nullable(r.comment)) AS value
    FROM reviews r JOIN users u ON u.id = r.user_id JOIN films f ON f.id = r.film_id
   WHERE $1 || '/users/' || u.name = ANY ($2)`;
const REMOTE_REVIEWS = `
  SELECT uri AS id, concat_ws(' ', film_number, rating, watched_on, version, quote_nullable(comment)) AS value
    FROM remote_reviews WHERE NOT deleted AND actor = ANY ($1)`;

const PROFILES = `
  SELECT $1 || '/users/' || name AS id, concat_ws(' ', display_name, moved_to) AS value
    FROM users WHERE $1 || '/users/' || name = ANY ($2)`;
const REMOTE_PROFILES = `
  SELECT uri AS id, concat_ws(' ', display_name, moved_to) AS value FROM remote_actors WHERE uri = ANY ($1)`;

const REACTIONS = `
  SELECT concat_ws(' ', $1 || '/users/' || u.name, r.kind, r.review_uri) AS id, r.version::text AS value
    FROM reactions r JOIN users u ON u.id = r.user_id WHERE r.active AND starts_with(r.review_uri, $2)`;
const REMOTE_REACTIONS = `
  SELECT concat_ws(' ', actor, kind, object) AS id, version::text AS value
    FROM remote_reactions WHERE active AND kind IN ('like', 'announce') AND starts_with(actor, $1)`;
