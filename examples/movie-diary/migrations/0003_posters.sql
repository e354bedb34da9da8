-- The intent to have a poster, written with the profile that names it, and what came of it. Objects of a film are only
-- touched while this row is locked; it outlives the film until its objects are removed, so it references nothing.
CREATE TABLE posters (
  film_id            uuid        PRIMARY KEY,
  -- NULL when the profile names none any more, until the objects of the last one are removed.
  source_url         text,
  object_key         text        NOT NULL,
  sha256             text,
  stored_at          timestamptz,
  -- Of a stored original that is no image that can be read: no attempt will ever make a copy of it.
  unreadable_because text,
  CHECK ((sha256 IS NULL) = (stored_at IS NULL)),
  CHECK (source_url IS NOT NULL OR sha256 IS NULL),
  CHECK (unreadable_because IS NULL OR sha256 IS NOT NULL)
);
