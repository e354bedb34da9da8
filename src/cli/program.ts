import { Command, CommanderError } from 'commander';
import { addCompletion } from '../commands/completion';
import { addConfig } from '../commands/config';
import { addDead } from '../commands/dead';
import { addDev } from '../commands/dev';
import { addDoctor } from '../commands/doctor';
import { addDrain } from '../commands/drain';
import { addEnqueue } from '../commands/enqueue';
import { addForget } from '../commands/forget';
import { addHandlers } from '../commands/handlers';
import { addMigrate } from '../commands/migrate';
import { addPause } from '../commands/pause';
import { addPrune } from '../commands/prune';
import { addReconcile } from '../commands/reconcile';
import { addReemit } from '../commands/reemit';
import { addResume } from '../commands/resume';
import { addRetry } from '../commands/retry';
import { addShow } from '../commands/show';
import { addSkip } from '../commands/skip';
import { addStatus } from '../commands/status';
import { addWaiting } from '../commands/waiting';
import { addWorker } from '../commands/worker';
import { CommandFailure, EXIT, sentenceOf, stackOf } from './failure';
import { addManual, formatManual } from './manual';
import { ownVersion } from '../ownVersion';
import { fail, note } from './output';
import { DATABASE, NATS, TEMPORAL } from './variables';

/** In the order of the help: what one asks at night stands first. */
const GROUPS: [group: string, verbs: ((program: Command) => void)[]][] = [
  ['What is the matter:', [addStatus, addWaiting, addShow, addDead, addHandlers, addReconcile, addDoctor]],
  ['Mend it:', [addReemit, addRetry, addSkip, addForget, addPause, addResume, addDrain, addPrune]],
  ['Run and set up:', [addWorker, addMigrate, addConfig, addEnqueue, addDev, addCompletion]],
];

/** The command line. Each verb adds itself; nothing is loaded for a verb that is not called. */
export function createProgram(): Command {
  const program = new Command('outbox')
    .description('A transactional outbox for PostgreSQL whose relay is a Temporal workflow.')
    .version(ownVersion(), '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    .configureHelp({ subcommandTerm: (command) => command.name(), formatHelp: formatManual })
    .showHelpAfterError('Run the same with --help to see what is allowed.')
    .configureOutput({ outputError: (text, write) => write(text) })
    .exitOverride();
  for (const [group, verbs] of GROUPS) {
    program.commandsGroup(group);
    for (const add of verbs) add(program);
  }
  program.commandsGroup('Help:').helpCommand('help [verb]', 'show the help of a verb');
  return addManual(program, {
    details:
      'Results are for people on a terminal; with --json they are for programs, on stdout and nothing else there.',
    environment: [...DATABASE, ...NATS, ...TEMPORAL],
    exits: {
      0: 'done',
      1: 'failed; the reason is on stderr',
      3: 'not settled yet; of `outbox reconcile` only',
      4: 'could not compare; of `outbox reconcile` only, whose 1 means faults',
    },
    examples: [
      ['outbox dev', 'servers and a worker on this machine'],
      ['outbox status --watch', 'state of the relay, and what waits'],
      ['outbox dead list --type OrderPlaced', 'what was given up, and why'],
      ['outbox reemit --all --type OrderPlaced', 'hand it back with a fresh budget'],
      ['outbox enqueue events.ndjson', 'write events from a file'],
    ],
    seeAlso: ['config', 'help'],
  });
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
