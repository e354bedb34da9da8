CREATE TABLE wrap_ups (
  id           uuid        PRIMARY KEY,
  user_id      uuid        NOT NULL REFERENCES users,
  year         integer     NOT NULL CHECK (year BETWEEN 1888 AND 9999),
  state        text        NOT NULL CHECK (state IN ('requested', 'generating', 'completed')),
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  completed_at timestamptz,
  summary      jsonb,
  UNIQUE (user_id, year),
  CHECK ((state = 'completed') = (summary IS NOT NULL) AND (state = 'completed') = (completed_at IS NOT NULL))
);
