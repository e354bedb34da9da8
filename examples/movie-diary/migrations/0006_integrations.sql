-- What media servers reported. Their own id of the event makes a repeated webhook the same event.
CREATE TABLE watch_events (
  id          uuid        PRIMARY KEY,
  user_id     uuid        NOT NULL REFERENCES users,
  source      text        NOT NULL,
  external_id text        NOT NULL,
  film_id     uuid        NOT NULL REFERENCES films,
  watched_at  timestamptz NOT NULL,
  UNIQUE (user_id, source, external_id)
);
CREATE INDEX watch_events_film ON watch_events (film_id);

-- Refused rows are kept as [{ "line": 3, "reason": "…" }]. The digest tells a repeat from another file under the same id.
CREATE TABLE diary_imports (
  id          uuid        PRIMARY KEY,
  user_id     uuid        NOT NULL REFERENCES users,
  sha256      text        NOT NULL,
  imported    integer     NOT NULL,
  refused     jsonb       NOT NULL,
  imported_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
