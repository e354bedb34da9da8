-- Films and people as the metadata provider knows them. The id of a film is derived from the provider's number, so it is
-- the same on every instance, and the same again when a film that was deleted is discovered anew.
CREATE TABLE films (
  id            uuid        PRIMARY KEY,
  number        integer     NOT NULL UNIQUE CHECK (number > 0),
  title         text        NOT NULL,
  discovered_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE people (
  id            uuid        PRIMARY KEY,
  name          text        NOT NULL UNIQUE,
  discovered_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The last thing that an enrichment writes: a film with a profile has been enriched.
CREATE TABLE film_profiles (
  film_id     uuid        PRIMARY KEY REFERENCES films ON DELETE CASCADE,
  released_on date,
  genre       text,
  distributor text,
  director_id uuid        REFERENCES people,
  poster_url  text,
  enriched_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE person_profiles (
  person_id   uuid        PRIMARY KEY REFERENCES people,
  films       integer     NOT NULL CHECK (films >= 0),
  enriched_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
