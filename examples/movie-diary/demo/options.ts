import { parseArgs } from 'node:util';

export interface Options {
  /** How events come to the handlers: through NATS, or straight from the outbox. */
  readonly backend: 'nats' | 'db';
  /** End after the job instead of staying up. */
  readonly exit: boolean;
  /** Delete what earlier runs left in the directory. */
  readonly fresh: boolean;
  /** Holds the servers' data, objects and all logs. */
  readonly directory: string;
  /** Films that are reviewed; a tenth as many again each are wished for, imported and streamed. */
  readonly films: number;
  readonly ports: { readonly first: number; readonly second: number; readonly metadata: number };
}

export const HELP = `Runs the movie diary: two instances of it that follow each other, each a server and a worker, with PostgreSQL, NATS and
Temporal beside them, and a metadata provider that fails now and then on purpose. Replays a diary made of real films over
HTTP, and then compares database, stream, ledger, object store, search index and the other instance by id.

  npm start                         run the diary and stay up until Ctrl-C
  npm start -- --exit               end after the comparison; exit code 0 only if everything agrees exactly
  npm start -- --films <n>          review so many films (default 150, at most 2,000)
  npm start -- --fresh              delete the data of earlier runs first
  npm start -- --directory <path>   keep data and logs there (default .outbox, and .outbox/db for the backend db)
  EVENT_BUS_BACKEND=db npm start    from the outbox straight to the handlers, without NATS in between

DATABASE_URL, NATS_URL and TEMPORAL_ADDRESS name servers to use instead of starting them. OUTBOX_POSTGRES_PORT,
OUTBOX_NATS_PORT, OUTBOX_TEMPORAL_PORT and OUTBOX_TEMPORAL_UI_PORT move the ports of those that are started, DIARY_PORT,
DIARY_SECOND_PORT and DIARY_METADATA_PORT those of the two instances and of the provider, which are named by them: moved,
they are others, so use --fresh.`;

const MOST_FILMS = 2_000;

/** @returns undefined when help was asked for; @throws Error with one sentence for what cannot be done */
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
      films: { type: 'string', default: '150' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { help, films, ...options } = values;
  if (help) return undefined;
  return {
    ...{ backend, ...options },
    films: within(films, '--films', 1, MOST_FILMS),
    ports: {
      first: within(env.DIARY_PORT ?? '8300', 'DIARY_PORT', 1, 65_535),
      second: within(env.DIARY_SECOND_PORT ?? '8301', 'DIARY_SECOND_PORT', 1, 65_535),
      metadata: within(env.DIARY_METADATA_PORT ?? '8302', 'DIARY_METADATA_PORT', 1, 65_535),
    },
  };
}

class OptionError extends Error {
  readonly code = 'ERR_PARSE_ARGS_VALUE';
}

function within(text: string, name: string, least: number, most: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new OptionError(`${name} must be a whole number from ${least} to ${most}, and is ${JSON.stringify(text)}`);
}
