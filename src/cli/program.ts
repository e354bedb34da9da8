import { Command, CommanderError } from 'commander';
import { addConfig } from '../commands/config';
import { addDead } from '../commands/dead';
import { addDev } from '../commands/dev';
import { addDrain } from '../commands/drain';
import { addEnqueue } from '../commands/enqueue';
import { addForget } from '../commands/forget';
import { addHandlers } from '../commands/handlers';
import { addMigrate } from '../commands/migrate';
import { addPause } from '../commands/pause';
import { addReconcile } from '../commands/reconcile';
import { addReemit } from '../commands/reemit';
import { addResume } from '../commands/resume';
import { addRetry } from '../commands/retry';
import { addShow } from '../commands/show';
import { addSkip } from '../commands/skip';
import { addStatus } from '../commands/status';
import { addWorker } from '../commands/worker';
import { CommandFailure, EXIT, sentenceOf, stackOf } from './failure';
import { ownVersion } from '../ownVersion';
import { fail, note } from './output';

const EXAMPLES = `
Examples:
  outbox dev                              servers and a worker on this machine
  outbox status --watch                   state of the relay, and what waits
  outbox dead list --type OrderPlaced     what was given up, and why
  outbox reemit --all --type OrderPlaced  hand it back with a fresh budget
  outbox enqueue events.ndjson            write events from a file`;

/** Below the help of every verb. */
const COMMON = `
Environment:
  DATABASE_URL        PostgreSQL that holds the outbox
  OUTBOX_SCHEMA       schema of its tables
  NATS_URL            NATS server that events go to
  TEMPORAL_ADDRESS    Temporal server; TEMPORAL_NAMESPACE, TEMPORAL_API_KEY
                      and the other standard variables work too
  OUTBOX_LOG_LEVEL    debug, info, warn, error or silent; debug also shows the
                      stack of an error
  NO_COLOR            no colours
\`outbox config\` lists every setting with its value.

Exit codes:
  0  done
  1  failed; the reason is on stderr
  2  wrong use: unknown verb, option or argument
  3  not settled yet; of \`outbox reconcile\` only
  4  could not compare; of \`outbox reconcile\` only, whose 1 means faults`;

/** The command line. Each verb adds itself; nothing is loaded for a verb that is not called. */
export function createProgram(): Command {
  const program = new Command('outbox')
    .description('A transactional outbox for PostgreSQL whose relay is a Temporal workflow.')
    .version(ownVersion(), '-V, --version', 'Show the version')
    .helpOption('-h, --help', 'Show this help, or the help of a verb')
    .helpCommand('help [verb]', 'Show the help of a verb')
    .configureHelp({ subcommandTerm: (command) => command.name(), showGlobalOptions: false })
    .addHelpText('after', EXAMPLES)
    .addHelpText('afterAll', COMMON)
    .showHelpAfterError('Run the same with --help to see what is allowed.')
    .configureOutput({ outputError: (text, write) => write(text) })
    .exitOverride();
  for (const add of [
    addDev, addMigrate, addWorker, addEnqueue, addStatus, addShow, addDead, addReemit, addRetry, addSkip, addHandlers,
    addForget, addReconcile, addPause, addResume, addDrain, addConfig,
  ]) add(program); // prettier-ignore
  return program;
}

/** @returns the exit code */
export async function run(argv: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(argv);
    return EXIT.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.wrongUse;
    fail(sentenceOf(error));
    if (process.env.OUTBOX_LOG_LEVEL === 'debug') note(stackOf(error));
    return error instanceof CommandFailure ? error.exitCode : EXIT.failed;
  }
}
