import { Command, InvalidArgumentError } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { claim } from './claim';
import { drain } from './drain';
import { merged, type Figures } from './figures';
import { idle } from './idle';
import { latency } from './latency';
import { watchLauncher } from './launcher';
import { recovery } from './recovery';
import { jsonOf, tableOf } from './report';
import { Rig } from './rig';

const PARTS = { drain, latency, idle, recovery, claim };
type Part = keyof typeof PARTS;
const NAMES = Object.keys(PARTS) as Part[];

interface Options {
  json?: boolean;
  only: Part[];
  quick?: boolean;
  profile?: string;
}

const options = new Command('bench')
  .description('Measures the relay on servers of its own, against bare loops. Takes about 9 minutes.')
  .option('--json', 'the last line on standard output is one JSON object, everything else goes to standard error')
  .option('--only <parts>', `comma-separated, of ${NAMES.join(', ')}`, parts, NAMES)
  .option('--quick', 'smaller and shorter: to see that it works, not what it reaches')
  .option('--profile <directory>', "writes each worker's CPU profile there; slows the worker down")
  .parse()
  .opts<Options>();

const UNWINDS_WITHIN_MS = 5_000;

const begun = performance.now();
const say = (line: string) =>
  console.error(`[${((performance.now() - begun) / 1_000).toFixed(0).padStart(4)} s] ${line}`);

void main();

async function main(): Promise<void> {
  const rig = Rig.create({ say, quick: options.quick ?? false, profileTo: options.profile });
  const interrupted = interruption();
  const measuring = measure(rig);
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
    await rig.stop();
  }
  // An interrupted part may have been about to start something: it fails soon, now that its servers are gone.
  await Promise.race([measuring.catch(() => undefined), sleep(UNWINDS_WITHIN_MS)]);
  await rig.stop();
  process.exit();
}

async function measure(rig: Rig): Promise<Figures> {
  say('starting PostgreSQL, NATS and Temporal');
  await rig.open();
  let figures: Figures = { machine: await machine(rig) };
  for (const name of NAMES.filter((part) => options.only.includes(part))) {
    say(`${name} …`);
    figures = merged(figures, await PARTS[name](rig));
  }
  return figures;
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

/** Rejects at the first signal, or when nobody waits any more. Further signals, which a terminal and npm send as well, change nothing. */
function interruption(): Promise<never> {
  return new Promise((_, reject) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(name, () => reject(new Error(`${name}: stopping everything that was started`)));
    }
    watchLauncher((what) => reject(new Error(`${what}: stopping everything that was started`)));
  });
}

function parts(given: string): Part[] {
  const names = given.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !NAMES.includes(name as Part));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`there is no part "${unknown}"; there are ${NAMES.join(', ')}.`);
  return names as Part[];
}
