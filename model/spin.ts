import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** One run of the checker. */
export interface Check {
  /** States that were visited; for a model that holds, all that there are. */
  readonly states: number;
  /** Steps of the longest way that was looked at. */
  readonly depth: number;
  readonly seconds: number;
  readonly violation: Violation | undefined;
}

/** A property that does not hold, and the way there. */
export interface Violation {
  /** What its line in the model says after `property:`. */
  readonly property: string;
  /** What happened, a step a line. */
  readonly trace: readonly string[];
}

export interface Build {
  /** The model's file, `<name>.pml` in this folder. */
  readonly model: string;
  readonly defines: readonly string[];
  /** Breadth first: the counter-example is then one of the shortest, but the search is slower. */
  readonly shortest?: boolean;
  /** States are kept in less than half the memory, and found in half as long again. */
  readonly compressed?: boolean;
}

const HOW = 'install `spin` and `gcc` (Debian: apt-get install spin gcc libc6-dev; Homebrew: brew install spin)';
/** Of the checker, in MiB and in steps. Beyond either it gives up, which is an error and no verdict. */
const MEMORY = 1_800;
const DEPTH = 20_000;

/**
 * Makes ready what the checks need. As root on a Debian machine, which is what CI is, it installs what is missing.
 *
 * @returns why there is none, in a sentence that says what to install; undefined when all is there
 */
export function prepareSpin(): string | undefined {
  if (isReady()) return undefined;
  if (process.getuid?.() !== 0 || !onPath('apt-get')) return `there is no spin: ${HOW}`;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'spin', 'gcc', 'libc6-dev']]) {
    const { status, stderr } = spawnSync('apt-get', ['-qq', ...args], { env, encoding: 'utf8', timeout: 300_000 });
    if (status !== 0) return `apt-get ${args[0]} failed (${stderr.trim().split('\n').at(-1) ?? ''}): ${HOW}`;
  }
  return isReady() ? undefined : `spin does not run: ${HOW}`;
}

/** Another well-known program has the same name. */
function isReady(): boolean {
  const { stdout } = spawnSync('spin', ['-V'], { encoding: 'utf8' });
  return /^Spin Version 6/.test(stdout ?? '') && onPath('gcc');
}

function onPath(command: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => existsSync(join(directory, command)));
}

/**
 * Visits every state of a build of a model.
 *
 * @throws Error when the search could not be completed: that is no verdict
 */
export async function check({ model, defines, shortest = false, compressed = false }: Build): Promise<Check> {
  const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-model-'));
  const file = `${model}.pml`;
  const given = defines.map((define) => `-D${define}`);
  try {
    copyFileSync(join(__dirname, file), join(directory, file));
    const begun = performance.now();
    await run('spin', [...given, '-a', file], directory);
    // To optimise takes longer than to find a counter-example.
    const search = shortest ? ['-O0', '-DBFS'] : ['-O1'];
    const options = [...search, ...(compressed ? ['-DCOLLAPSE'] : [])];
    await run('gcc', [...options, '-w', '-DSAFETY', `-DMEMLIM=${MEMORY}`, '-o', 'pan', 'pan.c'], directory);
    const said = await run('./pan', ['-E', `-m${DEPTH}`, '-w22'], directory);
    const seconds = (performance.now() - begun) / 1_000;
    const errors = Number(/errors: (\d+)/.exec(said)?.[1] ?? NaN);
    const stopped = errors === 0 && said.includes('Search not completed');
    if (Number.isNaN(errors) || stopped || said.includes('max search depth too small'))
      throw new Error(`the search was not completed: ${said.slice(0, 2_000)}`);
    return {
      states: Number(/(\d+) states, stored/.exec(said)?.[1]),
      depth: Number(/depth reached (\d+)/.exec(said)?.[1]),
      seconds,
      violation: errors === 0 ? undefined : readTrail(await run('spin', [...given, '-t', file], directory), file),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What the steps to the violation print, as far as the assertion that fails; its line names the property. */
function readTrail(replayed: string, file: string): Violation {
  // It warns of a trail of the same second as the model, which says nothing about the way.
  const [before = ''] = replayed.replace(/^spin: warning.*\n/gm, '').split(/^spin: /m);
  const line = Number(/^spin: [\w.]+:(\d+), Error: assertion violated/m.exec(replayed)?.[1]);
  const source = readFileSync(join(__dirname, file), 'utf8').split('\n')[line - 1] ?? '';
  const property = /property: (.+?) *\*\//.exec(source)?.[1] ?? `the assertion in line ${line}`;
  const trace = before.split('\n').map((step) => step.trim());
  return { property, trace: trace.filter(Boolean) };
}

async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { cwd, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}
