-- Retention. Nothing here reads or rewrites a table: on one of any size it is a moment's work. In particular there is no
-- index for rows that are done: it would be written for each event that is ever published, and building it would keep
-- every writer out of a long table. The clean-up goes along the primary key instead (ADR 0020).

-- Vacuum by rows changed, not by a fifth of a table that keeps its history. A clean-up leaves dead rows at the old end of
-- these tables, and what comes in next is to be written into their place; `event_queue` has such settings since migration 3.

-- Written twice by each handling, deleted from in bulk, and asked by its key before each handler: by a plan that must know
-- that it is large.
ALTER TABLE :schema.processed_events SET (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 1
);
-- Small, and every row of it is changed at each attempt and then deleted: after a mass failure it is nearly all dead rows,
-- which each ledger claim would look through.
ALTER TABLE :schema.deliveries SET (
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1
);
-- Inserted in bulk by producers while nothing is deleted: without it the pages of a long backlog are seen by no vacuum, and
-- the first that comes has all of them to freeze.
ALTER TABLE :schema.event_queue SET (autovacuum_vacuum_insert_scale_factor = 0.05);

-- A worker with an archive says so here: from then on no row goes without having been given to one.
ALTER TABLE :schema.outbox_installation ADD COLUMN archive boolean NOT NULL DEFAULT false;
