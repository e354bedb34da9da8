import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

interface Stage {
  readonly name: string;
  /** Stands for `/`. */
  readonly root: string;
  readonly environment: Record<string, string>;
  workingDirectory: string;
  command: readonly string[];
  ran: number;
}

/**
 * Does by hand what a builder does with a Dockerfile, where there is no engine: each stage is a directory below
 * `directory`, `RUN` runs on this machine. What an image brings along is not there, so `FROM <image>` is an empty
 * directory, and a command must keep to its working directory. Knows the instructions that ours has, and no others.
 *
 * @returns the last stage
 */
export async function buildByHand(context: string, directory: string): Promise<Stage> {
  const stages: Stage[] = [];
  for (const { instruction, text } of instructionsOf(readFileSync(join(context, 'Dockerfile'), 'utf8'))) {
    const stage = stages.at(-1) as Stage;
    if (instruction === 'FROM') stages.push(await from(text, stages, directory));
    else if (instruction === 'WORKDIR') {
      stage.workingDirectory = text;
      mkdirSync(join(stage.root, text), { recursive: true });
    } else if (instruction === 'ENV') Object.assign(stage.environment, assignments(text));
    else if (instruction === 'COPY') await copy(text, stage, stages, context);
    else if (instruction === 'RUN') await run(text, stage, context);
    else if (instruction === 'CMD') stage.command = JSON.parse(text) as string[];
    else if (!['ARG', 'USER', 'EXPOSE'].includes(instruction)) throw new Error(`${instruction} is not known here`);
  }
  return stages.at(-1) as Stage;
}

/** One for each, comments dropped and continued lines joined. */
function instructionsOf(dockerfile: string): { instruction: string; text: string }[] {
  const lines = dockerfile.split('\n').filter((line) => !line.startsWith('#'));
  return lines
    .join('\n')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ instruction: line.split(' ', 1)[0] ?? '', text: line.replace(/^\w+\s+/, '') }));
}

async function from(text: string, stages: readonly Stage[], directory: string): Promise<Stage> {
  const [base = '', , name = `${stages.length}`] = text.split(/\s+/);
  const root = join(directory, name);
  const parent = stages.find((stage) => stage.name === base);
  if (!parent) mkdirSync(root);
  else await link(parent.root, root);
  const { environment = {}, workingDirectory = '/' } = parent ?? {};
  return { name, root, environment: { ...environment }, workingDirectory, command: [], ran: 0 };
}

async function copy(text: string, stage: Stage, stages: readonly Stage[], context: string): Promise<void> {
  const words = text.split(/\s+/);
  const sources = words.filter((word) => !word.startsWith('--'));
  const target = sources.pop() ?? '';
  const other = /--from=(\S+)/.exec(text)?.[1];
  const origin = stages.find(({ name }) => name === other);
  if (other && !origin) throw new Error(`There is no stage ${other}`);
  for (const source of sources) {
    const from = origin ? join(origin.root, source) : join(context, source);
    const to = join(stage.root, target.startsWith('/') ? '/' : stage.workingDirectory, target);
    if (source === '.') for (const file of filesOf(context)) copyFile(join(context, file), join(to, file));
    else if (statSync(from).isDirectory()) await link(from, to);
    else copyFile(from, target.endsWith('/') ? join(to, source.slice(source.lastIndexOf('/') + 1)) : to);
  }
}

function copyFile(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}

/** The contents of a directory, by hard links: several hundred megabytes of packages would otherwise be copied each time. */
async function link(from: string, to: string): Promise<void> {
  mkdirSync(to, { recursive: true });
  await promisify(execFile)('cp', ['-al', `${from}/.`, to]);
}

async function run(text: string, stage: Stage, context: string): Promise<void> {
  const command = text.replace(/--mount=\S+\s+/g, '');
  // What npm tells its scripts about this package is not meant for the other one.
  const outside = Object.entries(process.env).filter(
    ([name]) =>
      !/^(NODE_ENV|NODE_OPTIONS|INIT_CWD|npm_(package|lifecycle|command|config_(local_|global_)?prefix).*)$/.test(name),
  );
  stage.ran++;
  if (command.startsWith('npm ci ') && (await takeInstalled(stage, context))) return;
  const env = { ...Object.fromEntries(outside), npm_config_prefer_offline: 'true', ...stage.environment };
  const cwd = join(stage.root, stage.workingDirectory);
  await promisify(execFile)('sh', ['-c', command], { cwd, env, maxBuffer: 64 * 1024 * 1024 });
}

/**
 * Copies what `npm ci` would install, where the set-up has installed just that here. It takes a minute of CPU time, and so
 * only the long tests run it. Copies and no links, since npm's later commands write into some of the files.
 *
 * @returns false where it must be run
 */
async function takeInstalled(stage: Stage, context: string): Promise<boolean> {
  const lock = readFileSync(join(stage.root, stage.workingDirectory, 'package-lock.json'));
  const stamp = join(context, 'node_modules', '.temporal-outbox-setup');
  // As scripts/setup.mjs writes it.
  const hash = createHash('sha256');
  for (const part of [lock, process.platform, process.arch]) hash.update(part).update('\0');
  const wanted = hash.digest('hex');
  if (process.env.OUTBOX_TEST_LONG === 'on' || !existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted)
    return false;
  for (const folder of ['node_modules', 'examples/movie-diary/node_modules'].filter((path) =>
    existsSync(join(context, path)),
  )) {
    const to = join(stage.root, stage.workingDirectory, folder);
    mkdirSync(to, { recursive: true });
    await promisify(execFile)('cp', ['-a', `${join(context, folder)}/.`, to]);
  }
  return true;
}

function assignments(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]));
}

/** What the builder is given: the files that `.dockerignore` leaves. The last pattern that fits decides. */
export function filesOf(context: string): string[] {
  const patterns = readFileSync(join(context, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ taken: line.startsWith('!'), path: line.replace(/^!/, '') }));
  const fits = (file: string, path: string) => path === '*' || file === path || file.startsWith(`${path}/`);
  const isTaken = (file: string) =>
    patterns.reduce((taken, each) => (fits(file, each.path) ? each.taken : taken), true);
  // Looked into only where something below it may be taken.
  const tops = new Set(patterns.filter(({ taken }) => taken).map(({ path }) => path.split('/', 1)[0] ?? ''));
  return [...tops].flatMap((top) => filesBelow(context, top)).filter(isTaken);
}

function filesBelow(context: string, path: string): string[] {
  if (!existsSync(join(context, path)) || path.endsWith('node_modules')) return [];
  if (!statSync(join(context, path)).isDirectory()) return [path];
  return readdirSync(join(context, path)).flatMap((name) => filesBelow(context, `${path}/${name}`));
}
