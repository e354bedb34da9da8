-- The intent to have a poster, written with the profile that names it, and what came of it. Objects of a film are only
-- touched while this row is locked; it outlives the film until its objects are removed, so it references nothing.
CREATE TABLE posters (
  film_id    uuid        PRIMARY KEY,
  source_url text        NOT NULL,
  object_key text        NOT NULL,
  sha256     text,
  stored_at  timestamptz,
  CHECK ((sha256 IS NULL) = (stored_at IS NULL))
);
