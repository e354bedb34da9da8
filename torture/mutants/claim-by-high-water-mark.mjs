/** Rows are claimed above the highest id that is done: what commits later under a lower one is never seen. */
import { rewriteStatements } from './rewrite.mjs';

const DUE = /FROM (\S+)\.event_queue\s+WHERE status IN \('pending', 'deferred'\)/;

rewriteStatements((text) =>
  text.includes('WITH fence AS MATERIALIZED') && text.includes('$2::integer')
    ? text.replace(
        DUE,
        "$& AND id > (SELECT coalesce(max(id), 0) FROM $1.event_queue WHERE status IN ('done', 'processing'))",
      )
    : text,
);
