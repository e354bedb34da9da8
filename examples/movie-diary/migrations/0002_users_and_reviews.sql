CREATE TABLE users (
  id           uuid        PRIMARY KEY,
  name         text        NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9_]{1,32}$'),
  display_name text        NOT NULL,
  -- Of the profile: each change of it is told to followers under an id derived from this number.
  version      integer     NOT NULL DEFAULT 1,
  moved_to     text,
  -- Ed25519, PEM: the user's outgoing activities are signed with it.
  public_key   text        NOT NULL,
  private_key  text        NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE reviews (
  id         uuid        PRIMARY KEY,
  user_id    uuid        NOT NULL REFERENCES users,
  film_id    uuid        NOT NULL REFERENCES films,
  rating     integer     NOT NULL CHECK (rating BETWEEN 1 AND 10),
  comment    text,
  watched_on date        NOT NULL,
  version    integer     NOT NULL DEFAULT 1,
  logged_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX reviews_film ON reviews (film_id);
CREATE INDEX reviews_user ON reviews (user_id, watched_on);

-- A review that is gone for good: its id is never used again, since other instances know it as deleted.
CREATE TABLE deleted_reviews (
  id         uuid        PRIMARY KEY,
  user_id    uuid        NOT NULL REFERENCES users,
  version    integer     NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- An entry that was removed stays, with its version: added again it is another addition, not a repeat of the first.
CREATE TABLE watchlist_entries (
  user_id uuid    NOT NULL REFERENCES users,
  film_id uuid    NOT NULL,
  listed  boolean NOT NULL,
  version integer NOT NULL,
  PRIMARY KEY (user_id, film_id)
);
CREATE INDEX watchlist_film ON watchlist_entries (film_id) WHERE listed;
