-- Handlers: what the fast path could not finish, and which handlers there are.

-- One handler of one event that failed, waits, is dead, or was skipped. A healthy event never has a row here.
CREATE TABLE :schema.deliveries (
  event_id       uuid        NOT NULL,
  handler        text        NOT NULL,
  state          text        NOT NULL DEFAULT 'waiting',
  attempts       integer     NOT NULL DEFAULT 0,
  next_at        timestamptz,
  failure_reason text,
  -- Where the body is: `outbox` (its row in event_queue), or stream and sequence, with the copy below.
  source         text        NOT NULL,
  touched_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  failed_at      timestamptz,
  -- Copied, so that dead letters can be listed and filtered when neither row nor message is there any more.
  event_type     text        NOT NULL,
  aggregate_type text        NOT NULL,
  aggregate_id   text        NOT NULL,
  company_id     uuid,
  -- An event that stands in no outbox: its record, and its body as it came.
  record         jsonb,
  body           bytea,
  PRIMARY KEY (event_id, handler),
  CONSTRAINT deliveries_state CHECK (state IN ('waiting', 'dead', 'skipped')),
  -- A waiting delivery without a time would wait for ever; a dead one is found by the time of its death.
  CONSTRAINT deliveries_waiting CHECK ((state = 'waiting') = (next_at IS NOT NULL)),
  CONSTRAINT deliveries_dead CHECK ((state = 'dead') = (failed_at IS NOT NULL)),
  CONSTRAINT deliveries_skipped CHECK (state <> 'skipped' OR failure_reason IS NOT NULL),
  CONSTRAINT deliveries_body CHECK ((source = 'outbox') = (body IS NULL) AND (body IS NULL) = (record IS NULL))
);
-- For the sweep: waiting deliveries whose run may be gone, the longest untouched first.
CREATE INDEX deliveries_waiting_at ON :schema.deliveries (next_at) WHERE state = 'waiting';
-- Dead letters, oldest first.
CREATE INDEX deliveries_dead_at ON :schema.deliveries (failed_at, event_id) WHERE state = 'dead';

-- Which events each recorded handler takes: {"<handler>": ["<event type>", …]}. The names are those of `handlers`.
ALTER TABLE :schema.outbox_installation
  ADD COLUMN handler_events jsonb NOT NULL DEFAULT '{}',
  -- Moves with each change, so that a worker sees at its next ledger claim that its copy is old.
  ADD COLUMN handlers_revision bigint NOT NULL DEFAULT 0;

-- For the sweep, and for whoever counts: rows whose handlers are not through.
CREATE INDEX event_queue_retrying ON :schema.event_queue (id) WHERE status = 'retrying';
