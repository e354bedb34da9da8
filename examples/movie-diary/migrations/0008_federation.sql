-- Actors of other instances as last seen: where to send, and the key that their signatures are checked with.
CREATE TABLE remote_actors (
  uri          text        PRIMARY KEY,
  inbox        text        NOT NULL,
  key_id       text        NOT NULL,
  public_key   text        NOT NULL,
  display_name text        NOT NULL,
  moved_to     text,
  -- Of the name and of the move, each on its own: a move may overtake a change of the name that it says nothing about.
  version      integer     NOT NULL DEFAULT 0,
  move_version integer     NOT NULL DEFAULT 0,
  -- When it was last asked for. Bad signatures in its name have it asked for again, but only once in a while.
  fetched_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Every activity that this instance has sent. Its id is derived from what happened, so a repeat is the same row. When the
-- review that it tells of is deleted, a tombstone takes the place of its object.
CREATE TABLE activities (
  id         text        PRIMARY KEY,
  user_id    uuid        NOT NULL REFERENCES users,
  type       text        NOT NULL,
  body       jsonb       NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE activity_deliveries (
  activity_id  text        NOT NULL REFERENCES activities,
  inbox        text        NOT NULL,
  -- delivered: the inbox took it; refused: it never will (gone, blocked, not allowed), or
  -- what it was to be told is deleted.
  state        text        NOT NULL DEFAULT 'requested' CHECK (state IN ('requested', 'delivered', 'refused')),
  settled_at   timestamptz,
  PRIMARY KEY (activity_id, inbox),
  CHECK ((state = 'requested') = (settled_at IS NULL))
);

-- Every activity that reached an inbox here, by its id, so that a repeat of it is seen.
CREATE TABLE received_activities (
  id          text        NOT NULL,
  user_id     uuid        NOT NULL REFERENCES users,
  actor       text        NOT NULL,
  type        text        NOT NULL,
  body        jsonb       NOT NULL,
  received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (id, user_id)
);
-- What was told of a review loses its content when the review is deleted. A hash, since the other side chooses the length.
CREATE INDEX received_reviews ON received_activities USING hash ((body -> 'object' ->> 'id'))
  WHERE type IN ('Create', 'Update');

-- Reviews of actors of other instances; a feed shows those of the actors that its user follows. A deleted one stays as a
-- tombstone without its content, so a late copy does not revive it; it may be known before the review is.
CREATE TABLE remote_reviews (
  uri         text        PRIMARY KEY,
  actor       text        NOT NULL,
  film_number integer,
  film_title  text,
  rating      integer     CHECK (rating BETWEEN 1 AND 10),
  comment     text,
  watched_on  date,
  version     integer     NOT NULL,
  deleted     boolean     NOT NULL DEFAULT false,
  CHECK (num_nonnulls(film_number, film_title, rating, watched_on) = CASE WHEN deleted THEN 0 ELSE 4 END),
  CHECK (NOT deleted OR comment IS NULL)
);
CREATE INDEX remote_reviews_actor ON remote_reviews (actor);

-- What remote actors think of a review, a film (on their watchlist) or a user (a block): the object is the review's or the
-- user's URI, or the film's id.
CREATE TABLE remote_reactions (
  actor      text    NOT NULL,
  kind       text    NOT NULL CHECK (kind IN ('like', 'announce', 'watchlist', 'block')),
  object     text    NOT NULL,
  active     boolean NOT NULL,
  version    integer NOT NULL,
  PRIMARY KEY (actor, kind, object)
);
