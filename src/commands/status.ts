import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { colors } from '../cli/colors';
import { positive } from '../cli/arguments';
import { explained } from '../cli/database';
import { CommandFailure, sentenceOf } from '../cli/failure';
import { print, printJson } from '../cli/output';
import { connectRelay, type RelayLink } from '../cli/relay';
import { renderStatus, type Status } from '../cli/statusPage';
import { stopSignal } from '../cli/stopSignal';
import { addManual } from '../cli/manual';
import { DATABASE, TEMPORAL } from '../cli/variables';
import { loadConfig, type Config } from '../config';
import { readBacklog } from '../outbox/backlog';
import { openDatabase, type Database } from '../postgres/database';
import { statusQuery } from '../workflows/messages';

const QUERY_TIMEOUT_MS = 5_000;
const CLEAR_SCREEN = '\u001b[H\u001b[2J\u001b[3J';

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
      "Shows the relay's state as the relay itself tells it, and the backlog as the database counts it. When Temporal or PostgreSQL is away, the other half is shown all the same.",
    )
    .option('-w, --watch', 'show it again and again, until Ctrl-C')
    .option('--interval <seconds>', 'with --watch: time between two looks', positive, 2)
    .option('--json', 'print an object as JSON; with --watch one on each line')
    .action(runStatus);
  addManual(verb, {
    environment: [...DATABASE, ...TEMPORAL],
    exits: { 0: 'at least one half could be read', 1: 'neither could' },
    examples: [
      ['outbox status', 'how is it?'],
      ['outbox status --watch', 'and how does it go on?'],
      ['outbox status --json | jq .database.oldestDueMs', 'for a program; `available` tells whether a half was read'],
    ],
    seeAlso: ['dead list'],
  });
}

async function runStatus(options: StatusOptions): Promise<void> {
  const config = loadConfig();
  const source = new StatusSource(config);
  try {
    if (!options.watch) {
      const status = await source.read();
      show(status, options.json);
      if (!status.relay.available && !status.database.available) {
        throw new CommandFailure('Neither the relay nor the database could be read.');
      }
      return;
    }
    const stop = stopSignal();
    while (!stop.aborted) {
      const status = await source.read();
      if (!options.json && process.stdout.isTTY) process.stdout.write(CLEAR_SCREEN);
      show(status, options.json);
      if (!options.json) print(colors.dim(`every ${options.interval} s; Ctrl-C ends it`));
      await sleep(options.interval * 1_000, undefined, { signal: stop }).catch(() => undefined);
    }
  } finally {
    await source.close();
  }
}

function show(status: Status, json: boolean | undefined): void {
  if (json) printJson(status);
  else print(renderStatus(status));
}

/** Both halves, read at the same moment. Connections are kept between two looks, and made again once lost. */
class StatusSource {
  private readonly db: Database;
  private relay: RelayLink | undefined;

  constructor(private readonly config: Config) {
    this.db = openDatabase({
      url: config.databaseUrl,
      schema: config.schema,
      poolSize: 1,
      applicationName: 'temporal-outbox cli',
      connectionTimeoutMillis: 3_000,
    });
  }

  async read(): Promise<Status> {
    const [relay, database] = await Promise.all([this.readRelay(), this.readDatabase()]);
    return { relay, database };
  }

  async close(): Promise<void> {
    await this.relay?.close();
    await this.db.close().catch(() => undefined);
  }

  private async readRelay(): Promise<Status['relay']> {
    try {
      this.relay ??= await connectRelay(this.config);
      const told = await this.relay.ask(QUERY_TIMEOUT_MS, (handle) => handle.query(statusQuery));
      return { available: true, workflowId: this.config.relayWorkflowId, ...told };
    } catch (error) {
      return { available: false, reason: sentenceOf(error) };
    }
  }

  private async readDatabase(): Promise<Status['database']> {
    try {
      return { available: true, schema: this.config.schema, ...(await readBacklog(this.db)) };
    } catch (error) {
      return { available: false, reason: sentenceOf(explained(error, this.config)) };
    }
  }
}
