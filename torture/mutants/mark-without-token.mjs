/** Whoever marks, marks every row that is being processed: also those of another claim, which nobody has sent yet. */
import { rewriteStatements } from './rewrite.mjs';

rewriteStatements((text) =>
  text.includes("SET status = 'done', published_at")
    ? text.replace('AND claim_token = $1::bigint', 'AND $1::bigint IS NOT NULL')
    : text,
);
