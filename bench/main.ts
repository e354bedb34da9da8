import { Argument, Command, InvalidArgumentError } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import type { Backend } from './figures';
import { interruption } from './interruption';
import { jsonOf, tableOf } from './report';
import { Rig } from './rig';
import { BACKENDS, measure, PARTS, type OpenRig, type Subject } from './subjects';

interface Options {
  json?: boolean;
  only?: string[];
  backend: Backend[];
  quick?: boolean;
  events?: number;
  profile?: string;
}

const command = new Command('bench')
  .description(
    'Measures on servers of its own, against bare loops: the relay (about 9 minutes), the handlers in both backends (about 30), or what the worker itself costs: telemetry, start and memory (about 15), or the clean-up of a ledger under load (about 5).',
  )
  .addArgument(new Argument('[subject]', 'what is measured').choices(Object.keys(PARTS)).default('relay'))
  .option('--json', 'the last line on standard output is one JSON object, everything else goes to standard error')
  .option(
    '--only <parts>',
    `comma-separated; ${Object.entries(PARTS)
      .map(([name, parts]) => `${name}: ${parts.join(', ')}`)
      .join('; ')}`,
    list,
  )
  .option('--backend <names>', `handlers only: ${BACKENDS.join(', ')}, or both`, backends, [...BACKENDS])
  .option('--events <number>', 'telemetry, memory only: how many are drained', Number)
  .option('--quick', 'smaller and shorter: to see that it works, not what it reaches')
  .option('--profile <directory>', "writes each worker's CPU profile there; slows the worker down")
  .parse();
const options = command.opts<Options>();
const subject = command.processedArgs[0] as Subject;
const stranger = options.only?.find((name) => !PARTS[subject].includes(name));
if (stranger !== undefined)
  command.error(`error: ${subject} has no part "${stranger}"; there are ${PARTS[subject].join(', ')}.`);

const UNWINDS_WITHIN_MS = 5_000;

const begun = performance.now();
const say = (line: string) =>
  console.error(`[${((performance.now() - begun) / 1_000).toFixed(0).padStart(4)} s] ${line}`);

void main();

async function main(): Promise<void> {
  const rigs: Rig[] = [];
  const openRig: OpenRig = async (settings = {}) => {
    const rig = Rig.create({
      say,
      quick: options.quick ?? false,
      profileTo: options.profile,
      settings,
      events: options.events,
    });
    rigs.push(rig);
    say('starting PostgreSQL, NATS and Temporal');
    await rig.open();
    return rig;
  };
  const stop = async () => {
    for (const rig of rigs) await rig.stop();
  };
  const interrupted = interruption();
  const measuring = measure({ subject, only: options.only, backends: options.backend }, openRig, machine);
  // Once interrupted, what is still being measured fails one way or another, and nobody asks how.
  measuring.catch(() => undefined);
  try {
    const figures = await Promise.race([measuring, interrupted]);
    if (options.json) console.error(tableOf(figures));
    else console.log(tableOf(figures));
    console.log(jsonOf(figures, options.json ? undefined : 2));
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  } finally {
    await stop();
  }
  // An interrupted part may have been about to start something: it fails soon, now that its servers are gone.
  await Promise.race([measuring.catch(() => undefined), sleep(UNWINDS_WITHIN_MS)]);
  await stop();
  process.exit();
}

/** Where the figures come from, in general words: they are meant to be shown around. */
async function machine(rig: Rig): Promise<Record<string, unknown>> {
  const { rows } = await rig.db.query<{ version: string }>(`SELECT current_setting('server_version') AS version`);
  return {
    postgres: rows[0]?.version,
    nats: rig.nats.info?.version,
    cpus: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    loadBefore: loadavg()[0],
  };
}

function list(given: string): string[] {
  return given.split(',').map((name) => name.trim());
}

function backends(given: string): Backend[] {
  const names = list(given);
  const unknown = names.find((name) => !BACKENDS.includes(name as Backend));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`there is no backend "${unknown}"; there are ${BACKENDS.join(', ')}.`);
  return names as Backend[];
}
