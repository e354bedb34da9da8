import { ArchiveError } from '../errors';
import type { Runner } from '../ledger/finish';
import type { Database } from '../postgres/database';
import type { Shelf } from './shelf';

/** Rows that are about to be removed. */
export interface ArchiveBatch {
  readonly table: 'event_queue' | 'processed_events' | 'deliveries';
  /** Each row as one line of JSON with its columns, as PostgreSQL prints it: every digit of a payload as it is stored. */
  readonly rows: readonly string[];
}

/**
 * Puts rows away before they are removed. What it throws keeps them, and makes the run fail, which is seen. They are
 * removed only after it has resolved, in a statement of their own, so a crash between the two gives it the same rows once
 * more: **at least once**. At most 5,000 rows and about 8 MB at a time.
 */
export type Archive = (batch: ArchiveBatch) => Promise<void> | void;

/** Literal, since a table's name is no parameter. */
const READ: Readonly<Record<Shelf['table'], string>> = {
  event_queue:
    '/* outbox: read rows for archive */ SELECT row_to_json(t)::text AS line FROM :schema.event_queue t WHERE ctid = ANY ($1::tid[])',
  processed_events:
    '/* outbox: read ledger for archive */ SELECT row_to_json(t)::text AS line FROM :schema.processed_events t WHERE ctid = ANY ($1::tid[])',
  deliveries:
    '/* outbox: read deliveries for archive */ SELECT row_to_json(t)::text AS line FROM :schema.deliveries t WHERE ctid = ANY ($1::tid[])',
};

export async function readLines(run: Runner, table: Shelf['table'], tids: readonly string[]): Promise<string[]> {
  return (await run<{ line: string }>(READ[table], [tids])).rows.map(({ line }) => line);
}

/** @throws ArchiveError with the reason of the archive */
export async function putAway(archive: Archive, batch: ArchiveBatch): Promise<void> {
  if (batch.rows.length === 0) return;
  try {
    await archive(batch);
  } catch (error) {
    throw new ArchiveError(
      `The archive did not take ${batch.rows.length} rows of ${batch.table}, which stay: ${error instanceof Error ? error.message : 'it threw what is no Error'}`,
      { cause: error },
    );
  }
}

const RECORD = '/* outbox: record archive */ UPDATE :schema.outbox_installation SET archive = $1 WHERE archive <> $1';

/**
 * Whether rows of this installation may only go through an archive. Recorded by each worker that has one, so that a worker
 * or a command without it removes nothing that nobody would have put away.
 */
export async function recordArchive(db: Database, wanted: boolean): Promise<void> {
  await db.query(RECORD, [wanted]);
}

const READ_WANTED = '/* outbox: read whether archived */ SELECT archive FROM :schema.outbox_installation';

/** @throws ArchiveError when there should be an archive, and is none */
export async function requireArchive(db: Database, archive: Archive | undefined): Promise<void> {
  if (archive) return;
  const { rows } = await db.query<{ archive: boolean }>(READ_WANTED);
  if (!rows[0]?.archive) return;
  throw new ArchiveError(
    'Rows of this installation go through an archive before they are removed, and none is given here: give `archive` to every worker, or run `outbox prune --forget-archive` if it was given up.',
  );
}
