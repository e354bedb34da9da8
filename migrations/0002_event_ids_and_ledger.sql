-- Every event gets an identity of its own, and handlers get a ledger.

-- The volatile default is evaluated once for each existing row, so every old row gets a random id of its own.
ALTER TABLE :schema.event_queue ADD COLUMN IF NOT EXISTS event_id uuid DEFAULT gen_random_uuid();
UPDATE :schema.event_queue SET event_id = gen_random_uuid() WHERE event_id IS NULL;
-- Without a default afterwards: a foreign writer's row is given its id by the claim, and `enqueueEvents` always sets one.
ALTER TABLE :schema.event_queue ALTER COLUMN event_id DROP DEFAULT;
ALTER TABLE :schema.event_queue ADD COLUMN IF NOT EXISTS claimed_at timestamptz;
CREATE UNIQUE INDEX event_queue_event_id ON :schema.event_queue (event_id);

CREATE TABLE :schema.processed_events (
  event_id     uuid           NOT NULL,
  handler      text           NOT NULL,
  status       text           NOT NULL,
  -- Milliseconds, because it is the owner token: a JavaScript Date could not give microseconds back.
  started_at   timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  lease_until  timestamptz,
  processed_at timestamptz,
  PRIMARY KEY (event_id, handler),
  CONSTRAINT processed_events_status CHECK (status IN ('in_progress', 'done')),
  CONSTRAINT processed_events_done CHECK ((status = 'done') = (processed_at IS NOT NULL))
);
-- For retention, which deletes the oldest `done` rows first.
CREATE INDEX processed_events_done_at ON :schema.processed_events (processed_at) WHERE status = 'done';
