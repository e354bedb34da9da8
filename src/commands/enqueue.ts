import type { Command } from 'commander';
import { createReadStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { positive } from '../cli/arguments';
import { withDatabase } from '../cli/database';
import { CommandFailure, EXIT, sentenceOf, wrongUse } from '../cli/failure';
import { importLines, UnknownCommit, type ImportProgress } from '../cli/importLines';
import { linesOf } from '../cli/lines';
import { counted, print, printJson } from '../cli/output';
import { progressBar } from '../cli/progressBar';
import { stopSignal } from '../cli/stopSignal';
import { addManual } from '../cli/manual';
import { DATABASE } from '../cli/variables';
import { loadConfig } from '../config';

interface EnqueueVerbOptions {
  batch: number;
  fromLine: number;
  json?: boolean;
  progress: boolean;
}

export function addEnqueue(program: Command): void {
  const verb = program
    .command('enqueue')
    .summary('write events from a file or a pipe to the outbox')
    .description(
      'Writes events from NDJSON to the outbox: one JSON object on each line. The input is read as it is written, so it may be larger than memory.',
    )
    .argument('[file]', 'the file; `-` or none: standard input')
    .option('--batch <lines>', 'lines of one transaction', positive, 500)
    .option('--from-line <number>', 'skip the lines before this one, to go on after a failure', positive, 1)
    .option('--no-progress', 'no progress bar (there is one on a terminal only)')
    .option('--json', 'print the result as JSON, also when it fails half-way')
    .action(runEnqueue);
  addManual(verb, {
    details: `Fields of a line: type, aggregateType, aggregateId, payload; optional: eventId, version, companyId, orgUnitId, correlationId, causationId, headers, occurredAt, availableAt (times as ISO 8601 with a zone). One line:

  {"type":"Paid","aggregateType":"order","aggregateId":"42","payload":{"sum":9}}

A bad line ends it: the line is named, nothing of its transaction is kept, and the transactions before it stay. With an eventId in each line an import can be repeated safely: an id that is in the outbox is refused. Without one, look first when the connection was lost during a commit: stderr names the lines of which nobody knows whether they are committed (with --json \`unknown\`, and \`nextLine\` is null).

Ctrl-C or SIGTERM ends it after the transaction that is under way, or 5 s later where PostgreSQL does not answer.`,
    environment: [...DATABASE, 'OUTBOX_NOTIFY', 'OUTBOX_MAX_PAYLOAD_BYTES'],
    exits: { 0: 'every line is committed', 1: 'a line is bad, or PostgreSQL is away; stderr says where to go on' },
    examples: [
      ['outbox enqueue events.ndjson', 'a file'],
      ['zcat events.ndjson.gz | outbox enqueue --batch 2000', 'a pipe, in larger transactions'],
      ['outbox enqueue events.ndjson --from-line 4501', 'go on after a failure'],
    ],
    seeAlso: ['status', 'show'],
  });
}

async function runEnqueue(file: string | undefined, options: EnqueueVerbOptions): Promise<void> {
  const config = loadConfig();
  const fromStdin = file === undefined || file === '-';
  if (fromStdin && process.stdin.isTTY) {
    throw wrongUse('Give a file, or pipe lines in: `outbox enqueue --help` shows what a line looks like.');
  }
  const source = fromStdin ? undefined : await openFile(file);
  const input = source ? createReadStream('', { fd: source }) : process.stdin;
  const stop = stopSignal();
  // The next line may be long in coming.
  stop.addEventListener('abort', () => input.destroy(new CommandFailure('Interrupted.')), { once: true });
  const bar = progressBar(options.progress && process.stderr.isTTY, source ? (await source.stat()).size : undefined);
  // JSON may spell a character in six bytes, and a line holds more than the payload.
  const maxLineBytes = 8 * config.maxPayloadBytes + 64 * 1024;

  let done: ImportProgress = { events: 0, transactions: 0, nextLine: options.fromLine, bytes: 0 };
  try {
    await withDatabase(config, (db) =>
      importLines(db, linesOf(input, maxLineBytes), {
        batch: options.batch,
        fromLine: options.fromLine,
        wake: config.notify,
        maxPayloadBytes: config.maxPayloadBytes,
        signal: stop,
        onCommit: (progress) => {
          done = progress;
          bar.update(progress);
        },
      }),
    );
    bar.stop();
  } catch (error) {
    bar.stop();
    report(done, options.json, error instanceof UnknownCommit ? error.lines : undefined);
    if (error instanceof UnknownCommit) throw error;
    const kept =
      done.events > 0
        ? `The lines before line ${done.nextLine} are committed; nothing after them is. Go on with --from-line ${done.nextLine}.`
        : 'Nothing was enqueued.';
    const exitCode = error instanceof CommandFailure ? error.exitCode : EXIT.failed;
    throw new CommandFailure(`${sentenceOf(error).replace(/[^.!?:]$/, '$&.')} ${kept}`, exitCode, { cause: error });
  }
  report(done, options.json);
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    const handle = await open(file);
    if ((await handle.stat()).isDirectory()) throw new Error('it is a directory');
    return handle;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EACCES' ? 'it may not be read' : message;
    throw new CommandFailure(`${file} cannot be read: ${why}.`, undefined, { cause: error });
  }
}

/** @param unknown lines of which nobody knows: a program that went on behind what is certain might write them twice */
function report(done: ImportProgress, json: boolean | undefined, unknown?: UnknownCommit['lines']): void {
  const { events, transactions, nextLine } = done;
  if (json) {
    printJson({ enqueued: events, transactions, ...(unknown ? { nextLine: null, unknown } : { nextLine }) });
    return;
  }
  const except = unknown ? `, lines ${unknown.fromLine} to ${unknown.toLine} not counted` : '';
  print(`Enqueued ${counted(events, 'event')} in ${counted(transactions, 'transaction')}${except}.`);
}
