import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { colors } from '../cli/colors';
import { positive } from '../cli/arguments';
import { CommandFailure } from '../cli/failure';
import { print, printJson } from '../cli/output';
import { Screen } from '../cli/screen';
import { renderStatus, type Status } from '../cli/statusPage';
import { StatusSource } from '../cli/statusSource';
import { stopSignal } from '../cli/stopSignal';
import { addManual } from '../cli/manual';
import { DATABASE, NATS, TEMPORAL } from '../cli/variables';
import { loadConfig } from '../config';

interface StatusOptions {
  watch?: boolean;
  interval: number;
  json?: boolean;
}

export function addStatus(program: Command): void {
  const verb = program
    .command('status')
    .summary('show the relay, and what waits in the outbox')
    .description(
      'Shows what relay and consumer say of themselves, what the stream holds for the handlers, what the database counts, what its handlers have open, and when the clean-up ran and runs next. When Temporal, NATS or PostgreSQL is away, the rest is shown all the same.',
    )
    .option('-w, --watch', 'show it again and again, until Ctrl-C')
    .option('--interval <seconds>', 'with --watch: time between two looks', positive, 2)
    .option('--json', 'print an object as JSON; with --watch one on each line')
    .action(runStatus);
  addManual(verb, {
    details: `Totals count since relay and consumer were first started, and begin anew when one is terminated. A rate is of the last minute; with --watch, of the time since the look before. \`outbox pause\` stops the relay only: consumer and delivery runs have states of their own here.`,
    environment: [...DATABASE, 'EVENT_BUS_BACKEND', ...NATS, ...TEMPORAL],
    exits: { 0: 'relay or database could be read, or both', 1: 'neither could' },
    examples: [
      ['outbox status', 'how is it?'],
      ['outbox status --watch', 'and how does it go on?'],
      ['outbox status --json | jq .database.oldestDueMs', 'for a program; `available` tells which parts were read'],
    ],
    seeAlso: ['waiting', 'doctor', 'dead list'],
  });
}

async function runStatus(options: StatusOptions): Promise<void> {
  const source = new StatusSource(loadConfig());
  try {
    if (options.watch) await watch(source, options);
    else {
      const status = await source.read();
      show(status, options.json);
      if (!isKnown(status)) throw new CommandFailure('Neither the relay nor the database could be read.');
    }
  } finally {
    await source.close();
  }
}

async function watch(source: StatusSource, { interval, json }: StatusOptions): Promise<void> {
  const screen = !json && process.stdout.isTTY ? new Screen(process.stdout) : undefined;
  const stop = stopSignal();
  try {
    while (!stop.aborted) {
      const status = await source.read();
      if (screen) screen.show(`${renderStatus(status)}\n${colors.dim(`every ${interval} s; Ctrl-C ends it`)}`);
      else show(status, json);
      await sleep(interval * 1_000, undefined, { signal: stop }).catch(() => undefined);
    }
  } finally {
    screen?.close();
  }
}

function isKnown({ relay, database }: Status): boolean {
  return relay.available || database.available;
}

function show(status: Status, json: boolean | undefined): void {
  if (json) printJson(status);
  else print(renderStatus(status));
}
