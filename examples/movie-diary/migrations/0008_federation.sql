-- Actors of other instances as last seen: where to send, and the key that their signatures are checked with.
CREATE TABLE remote_actors (
  uri          text        PRIMARY KEY,
  inbox        text        NOT NULL,
  key_id       text        NOT NULL,
  public_key   text        NOT NULL,
  display_name text        NOT NULL,
  moved_to     text,
  version      integer     NOT NULL DEFAULT 0,
  fetched_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Every activity that this instance has sent. Its id is derived from what happened, so a repeat is the same row.
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
  -- delivered: the inbox took it; refused: it never will (gone, blocked, not allowed).
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

-- Reviews of actors that somebody here follows. A deleted one stays as a tombstone, so a late copy does not revive it.
CREATE TABLE remote_reviews (
  uri         text        PRIMARY KEY,
  actor       text        NOT NULL,
  film_number integer     NOT NULL,
  film_title  text        NOT NULL,
  rating      integer     NOT NULL CHECK (rating BETWEEN 1 AND 10),
  comment     text,
  watched_on  date        NOT NULL,
  version     integer     NOT NULL,
  deleted     boolean     NOT NULL DEFAULT false
);
CREATE INDEX remote_reviews_actor ON remote_reviews (actor);

-- Reactions of remote actors to reviews of this instance, and what they tell of their own watchlists.
CREATE TABLE remote_reactions (
  actor      text    NOT NULL,
  kind       text    NOT NULL CHECK (kind IN ('like', 'announce', 'watchlist')),
  object     text    NOT NULL,
  active     boolean NOT NULL,
  version    integer NOT NULL,
  PRIMARY KEY (actor, kind, object)
);
