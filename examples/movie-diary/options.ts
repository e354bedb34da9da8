import { parseArgs } from 'node:util';

export interface Options {
  /** End after the job instead of staying up. */
  readonly exit: boolean;
  /** Delete what earlier runs left in the directory. */
  readonly fresh: boolean;
  /** Holds the servers' data and all logs. */
  readonly directory: string;
}

export const HELP = `Imports 3,201 real films into PostgreSQL, each with an event in the same transaction, and counts in the stream
what the relay made of them.

  npm start                         run the job and stay up until Ctrl-C
  npm start -- --exit               end after the job; exit code 0 only if every event is in the stream exactly once
  npm start -- --fresh              delete the data of earlier runs first
  npm start -- --directory <path>   keep data and logs there (default .outbox)

DATABASE_URL, NATS_URL and TEMPORAL_ADDRESS name servers to use instead of starting them. OUTBOX_POSTGRES_PORT,
OUTBOX_NATS_PORT, OUTBOX_TEMPORAL_PORT and OUTBOX_TEMPORAL_UI_PORT move the ports of those that are started.`;

/** @returns undefined when help was asked for; @throws Error with one sentence on an unknown option */
export function readOptions(args: string[]): Options | undefined {
  const { values } = parseArgs({
    args,
    options: {
      exit: { type: 'boolean', default: false },
      fresh: { type: 'boolean', default: false },
      directory: { type: 'string', default: '.outbox' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { help, ...options } = values;
  return help ? undefined : options;
}
