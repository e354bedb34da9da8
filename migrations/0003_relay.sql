-- What the relay needs: fenced claims, deferrals, and the two one-row tables.

ALTER TABLE :schema.event_queue
  ADD COLUMN headers     jsonb,
  ADD COLUMN claim_token bigint,
  ADD COLUMN deferrals   integer NOT NULL DEFAULT 0,
  ADD COLUMN retry_at    timestamptz,
  -- Lets a claim stop at a number of bytes without reading a single body (ADR 0004).
  ADD COLUMN payload_bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(payload::text)) STORED;

-- Old rows in a final state get the times that the constraints below ask for.
UPDATE :schema.event_queue SET published_at = occurred_at WHERE status = 'done' AND published_at IS NULL;
UPDATE :schema.event_queue SET failed_at = clock_timestamp() WHERE status = 'dead_lettered' AND failed_at IS NULL;
UPDATE :schema.event_queue SET failed_at = NULL WHERE status <> 'dead_lettered' AND failed_at IS NOT NULL;
-- A poller's own retries have no time of their own in this table: due again. Claim times that it left behind mean nothing.
UPDATE :schema.event_queue SET status = 'pending' WHERE status IN ('retrying', 'deferred');
UPDATE :schema.event_queue SET claimed_at = NULL WHERE status <> 'processing' AND claimed_at IS NOT NULL;

ALTER TABLE :schema.event_queue
  ADD CONSTRAINT event_queue_status CHECK (status IN ('pending', 'deferred', 'processing', 'retrying', 'done', 'dead_lettered')),
  -- A token outside `processing` would let a late writer settle a row that it no longer owns.
  ADD CONSTRAINT event_queue_claim CHECK (status = 'processing' OR (claim_token IS NULL AND claimed_at IS NULL)),
  -- A waiting row without a due time would wait for ever. `processing` keeps it, so that a probe can be put back.
  ADD CONSTRAINT event_queue_retry CHECK (status = 'processing' OR (status IN ('deferred', 'retrying')) = (retry_at IS NOT NULL)),
  ADD CONSTRAINT event_queue_done CHECK (status <> 'done' OR published_at IS NOT NULL),
  ADD CONSTRAINT event_queue_dead CHECK ((status = 'dead_lettered') = (failed_at IS NOT NULL));

-- What can be claimed, in the order of the claim. Partial: its size is the backlog, not the history.
CREATE INDEX event_queue_due ON :schema.event_queue ((coalesce(retry_at, available_at)), id) WHERE status IN ('pending', 'deferred');
-- What a token holds, and what a vanished relay left behind.
CREATE INDEX event_queue_claimed ON :schema.event_queue (claim_token, claimed_at) WHERE status = 'processing';
-- One deferred row at random, as a probe; and those with the reason of a row that has just gone out.
CREATE INDEX event_queue_deferred ON :schema.event_queue (id) WHERE status = 'deferred';
CREATE INDEX event_queue_deferred_for ON :schema.event_queue (failure_reason, id) WHERE status = 'deferred';
-- Dead letters, oldest first.
CREATE INDEX event_queue_dead_at ON :schema.event_queue (failed_at, id) WHERE status = 'dead_lettered';

-- A queue table turns over all the time: vacuum by rows changed, not by a fifth of a table that keeps its history.
ALTER TABLE :schema.event_queue SET (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1
);

-- One row. Each attempt of a claim takes the next epoch as its token; a claim with an older one takes nothing.
CREATE TABLE :schema.relay_fence (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  epoch    bigint  NOT NULL DEFAULT 0
);
INSERT INTO :schema.relay_fence DEFAULT VALUES;

-- One row. The id tells a relay whether the database it meets is the one it was started for.
CREATE TABLE :schema.outbox_installation (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  id       uuid    NOT NULL DEFAULT gen_random_uuid(),
  handlers text[]  NOT NULL DEFAULT '{}'
);
INSERT INTO :schema.outbox_installation DEFAULT VALUES;
