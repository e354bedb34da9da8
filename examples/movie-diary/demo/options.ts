import { parseArgs } from 'node:util';

export interface Options {
  /** How events come to the handlers: through NATS, or straight from the outbox. */
  readonly backend: 'nats' | 'db';
  /** End after the job instead of staying up. */
  readonly exit: boolean;
  /** Delete what earlier runs left in the directory. */
  readonly fresh: boolean;
  /** Holds the servers' data and all logs. */
  readonly directory: string;
}

export const HELP = `Imports 3,201 real films into PostgreSQL, each with an event in the same transaction. A relay moves the events, and two
handlers take them: search-index keeps a full-text index, poster-service calls a local HTTP service that fails now and
then on purpose. One film is refused until its title is known: it becomes a dead letter, is mended and handed back.
Then everything is counted: in the stream, in the ledger, in the index and in the service's own log.

  npm start                         run the job and stay up until Ctrl-C
  npm start -- --exit               end after the job; exit code 0 only if every event is published and handled exactly once
  npm start -- --fresh              delete the data of earlier runs first
  npm start -- --directory <path>   keep data and logs there (default .outbox, and .outbox/db for the backend db)
  EVENT_BUS_BACKEND=db npm start    from the outbox straight to the handlers, without NATS in between

DATABASE_URL, NATS_URL and TEMPORAL_ADDRESS name servers to use instead of starting them. OUTBOX_POSTGRES_PORT,
OUTBOX_NATS_PORT, OUTBOX_TEMPORAL_PORT and OUTBOX_TEMPORAL_UI_PORT move the ports of those that are started.`;

/** @returns undefined when help was asked for; @throws Error with one sentence on an unknown option */
export function readOptions(args: string[], env: NodeJS.ProcessEnv): Options | undefined {
  // Anything else is refused by the worker, which reads it too.
  const backend = env.EVENT_BUS_BACKEND === 'db' ? 'db' : 'nats';
  const { values } = parseArgs({
    args,
    options: {
      exit: { type: 'boolean', default: false },
      fresh: { type: 'boolean', default: false },
      // One for each: a relay that runs for one backend takes no worker of the other.
      directory: { type: 'string', default: backend === 'db' ? '.outbox/db' : '.outbox' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { help, ...options } = values;
  return help ? undefined : { backend, ...options };
}
