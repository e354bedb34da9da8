import { EnqueueError } from '../errors';
import type { NewEvent } from '../event';
import { enqueueEvents } from '../outbox/enqueue';
import type { Database } from '../postgres/database';
import { isRefusedCommit } from '../postgres/refusedCommit';
import { eventOfLine } from './eventLine';
import { CommandFailure } from './failure';
import type { Line } from './lines';
import { STUCK_MS, unlessStuck } from './unlessStuck';

export interface ImportOptions {
  /** Lines of one transaction. */
  readonly batch: number;
  /** Lines before this one are read and left. */
  readonly fromLine: number;
  readonly wake: boolean;
  readonly maxPayloadBytes: number;
  /**
   * Aborted: the open transaction is finished, unless PostgreSQL stands still, and the import ends as a failure that says
   * where to go on.
   */
  readonly signal: AbortSignal;
  readonly onCommit: (progress: ImportProgress) => void;
}

/** What is committed. */
export interface ImportProgress {
  readonly events: number;
  readonly transactions: number;
  /** The first line that is not committed. */
  readonly nextLine: number;
  /** Bytes of the input that are done with. */
  readonly bytes: number;
}

/** A COMMIT without an answer: where to go on is for a person to find out. */
export class UnknownCommit extends CommandFailure {
  constructor(
    /** The lines of the transaction: all of them are committed, or none. */
    readonly lines: { readonly fromLine: number; readonly toLine: number },
    /** Absent: nothing was heard. */
    cause?: unknown,
  ) {
    const { fromLine, toLine } = lines;
    const what = cause === undefined ? 'PostgreSQL did not answer' : 'The connection was lost';
    super(
      `${what} while lines ${fromLine} to ${toLine} were being committed, so nobody knows whether they are: look before going on, with --from-line ${toLine + 1} if they are, with --from-line ${fromLine} if not.`,
      undefined,
      { cause },
    );
  }
}

interface NumberedEvent {
  readonly line: number;
  readonly event: NewEvent;
}

/**
 * Writes the events of the lines, `batch` lines to a transaction. Lines without a word are passed over.
 *
 * @throws CommandFailure that names the bad line; its transaction is rolled back
 * @throws UnknownCommit when nobody can tell whether the last transaction is
 */
export async function importLines(db: Database, lines: AsyncIterable<Line>, options: ImportOptions): Promise<void> {
  let done: ImportProgress = { events: 0, transactions: 0, nextLine: options.fromLine, bytes: 0 };
  let open: NumberedEvent[] = [];
  const commit = async (last: Line) => {
    if (open.length > 0) await inTransaction(db, open, options);
    done = {
      events: done.events + open.length,
      transactions: done.transactions + (open.length > 0 ? 1 : 0),
      nextLine: last.number + 1,
      bytes: last.offset,
    };
    open = [];
    options.onCommit(done);
  };

  let last: Line | undefined;
  for await (const line of lines) {
    if (line.number < options.fromLine) continue;
    last = line;
    if (line.text.trim() !== '') open.push({ line: line.number, event: read(line) });
    if (line.number - done.nextLine + 1 >= options.batch) await commit(line);
    if (options.signal.aborted) throw new CommandFailure('Interrupted.');
  }
  if (last && last.number >= done.nextLine) await commit(last);
}

function read(line: Line): NewEvent {
  try {
    return eventOfLine(line.text);
  } catch (error) {
    throw badLine(line.number, (error as Error).message, error);
  }
}

async function inTransaction(db: Database, open: readonly NumberedEvent[], options: ImportOptions): Promise<void> {
  const { wake, maxPayloadBytes, signal } = options;
  const lines = { fromLine: open[0]?.line ?? 0, toLine: open.at(-1)?.line ?? 0 };
  const client = await db.pool.connect();
  let broken: Error | undefined;
  // A connection that dies while the next lines are read must not end the process; the next statement reports it.
  const onError = (error: Error) => (broken = error);
  client.on('error', onError);
  let committing = false;
  const write = async () => {
    try {
      await client.query('/* outbox: begin import */ BEGIN');
      const events = open.map(({ event }) => event);
      await enqueueEvents(client, events, { schema: db.schema, wake, maxPayloadBytes });
      committing = true;
      await client.query('/* outbox: commit import */ COMMIT');
    } catch (error) {
      const rolledBack = client.query('/* outbox: roll back import */ ROLLBACK');
      const answers = await rolledBack.then(() => true).catch(() => false);
      if (committing && !(answers && isRefusedCommit(error))) throw new UnknownCommit(lines, error);
      throw whichLine(open, error);
    }
  };
  try {
    await unlessStuck(write(), signal, STUCK_MS, () => {
      // Else an answer that still came would be followed by the COMMIT of lines that are said not to be there.
      void client.end().catch(() => undefined);
      return committing ? new UnknownCommit(lines) : new CommandFailure('Interrupted, and PostgreSQL does not answer.');
    });
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

const UNIQUE_VIOLATION = '23505';

function whichLine(open: readonly NumberedEvent[], error: unknown): unknown {
  if (error instanceof EnqueueError) {
    const line = open[error.index]?.line ?? 0;
    return badLine(line, error.message.replace(/^Event \d+ was not enqueued: /, ''), error);
  }
  const { code, detail } = error as { code?: unknown; detail?: unknown };
  if (code === UNIQUE_VIOLATION && typeof detail === 'string') {
    const id = /\(event_id\)=\(([0-9a-f-]{36})\)/.exec(detail)?.[1];
    const found = open.find(({ event }) => event.eventId?.toLowerCase() === id);
    if (found) return badLine(found.line, `the event id ${id} is in the outbox already`, error);
  }
  return error;
}

function badLine(number: number, message: string, cause: unknown): CommandFailure {
  return new CommandFailure(`Line ${number}: ${message}${/[.!?]$/.test(message) ? '' : '.'}`, undefined, { cause });
}
