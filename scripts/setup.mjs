// Makes a fresh clone ready: dependencies, build, and with --servers the server binaries. Runs before every `npm start`
// and `npm test`, so it does only what is missing, and it knows nothing but Node, since node_modules may not exist yet.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const OLDEST_NODE = [20, 3];

class SetupError extends Error {}

try {
  process.chdir(fileURLToPath(new URL('..', import.meta.url)));
  requireNode();
  installDependencies();
  build();
  if (process.argv.includes('--servers')) await fetchServers();
} catch (error) {
  // A fault of this script's own keeps its stack; everything that a user can mend is one sentence.
  const isSentence = error instanceof SetupError || error.kind === 'server' || typeof error.code === 'string';
  console.error(isSentence ? error.message : error);
  process.exit(1);
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  throw new SetupError(
    `Node ${OLDEST_NODE.join('.')} or newer is needed, and this is ${process.versions.node}: install a newer one from https://nodejs.org.`,
  );
}

function installDependencies() {
  const stamp = 'node_modules/.temporal-outbox-setup';
  const wanted = sha256(readFileSync('package-lock.json'), process.platform, process.arch);
  if (read(stamp) === wanted) return;
  if (!isInstalled()) {
    console.log('Installing dependencies (npm ci)');
    const cache =
      process.env.npm_config_cache || homeTakesCache() ? {} : { npm_config_cache: resolve('.outbox/npm-cache') };
    // Under another package manager this names that one, which would not read package-lock.json.
    const npm = /npm-cli\.js$/.test(process.env.npm_execpath ?? '') ? process.env.npm_execpath : undefined;
    // The build needs the development dependencies, also where NODE_ENV is "production".
    const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
    run('The dependencies could not be installed', npm ? process.execPath : 'npm', npm ? [npm, ...args] : args, {
      env: { ...process.env, ...cache },
      shell: !npm && process.platform === 'win32',
    });
  }
  writeFileSync(stamp, wanted);
}

/** Whether node_modules holds exactly what package-lock.json asks for, whoever installed it. */
function isInstalled() {
  const installed = readPackages('node_modules/.package-lock.json');
  const locked = readPackages('package-lock.json');
  if (!installed || !locked) return false;
  const isSame = (path) =>
    installed[path]?.version === locked[path]?.version && installed[path]?.integrity === locked[path]?.integrity;
  // What is optional belongs to other platforms, or is there and must then be the same.
  const isNeeded = (path) => path !== '' && !locked[path].optional && !locked[path].devOptional;
  return (
    Object.keys(installed).every((path) => isSame(path) && existsSync(path)) &&
    Object.keys(locked).every((path) => !isNeeded(path) || isSame(path))
  );
}

function readPackages(file) {
  const text = read(file);
  return text && JSON.parse(text).packages;
}

function build() {
  const stamp = 'dist/.temporal-outbox-build';
  const bundler = 'scripts/bundle-workflows.mjs';
  const sources = filesBelow('src').filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'));
  const inputs = [...sources, 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json', bundler].filter(existsSync);
  const wanted = sha256(...inputs.flatMap((file) => [file, readFileSync(file)]));
  const last = JSON.parse(read(stamp) ?? '{"sources":[]}');
  const outputs = (source) =>
    ['.js', '.js.map', '.d.ts'].map((end) => source.replace(/^src/, 'dist').replace(/\.ts$/, end));
  const isBuilt = sources.every((source) => existsSync(outputs(source)[0]));
  if (last.hash === wanted && isBuilt) return;

  console.log('Building dist/');
  rmSync(stamp, { force: true });
  // The compiler trusts this file and would not write again what someone has deleted.
  if (!isBuilt) rmSync('dist/.tsbuildinfo', { force: true });
  for (const gone of last.sources.filter((source) => !sources.includes(source))) {
    for (const output of outputs(gone)) rmSync(output, { force: true });
  }
  run('The build failed', process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json']);
  if (existsSync(bundler)) run('The workflows could not be bundled', process.execPath, [bundler]);
  mkdirSync('dist', { recursive: true });
  writeFileSync(stamp, JSON.stringify({ hash: wanted, sources }));
}

async function fetchServers() {
  const { fetchServers } = createRequire(import.meta.url)('../dist/servers/findBinaries.js');
  await fetchServers((line) => console.log(line));
}

/** Runs a step quietly; what it printed matters only when it fails. */
function run(whatFailed, command, args, options = {}) {
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  if (status === 0) return;
  const said = `${stdout ?? ''}${stderr ?? ''}`.trim().split('\n').slice(-20).join('\n  ');
  const how = error?.message ?? (signal ? `ended by ${signal}` : `exit code ${status}`);
  throw new SetupError(`${whatFailed} (${how})${said ? `:\n  ${said}` : '.'}`);
}

function filesBelow(directory) {
  return readdirSync(directory, { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${directory}/${entry.name}`;
      return entry.isDirectory() ? filesBelow(path) : [path];
    })
    .sort();
}

function sha256(...parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
}

function read(file) {
  return existsSync(file) && statSync(file).isFile() ? readFileSync(file, 'utf8') : undefined;
}

/** npm keeps its cache in the home directory, which may be absent or someone else's. */
function homeTakesCache() {
  const npmCache = join(homedir(), '.npm');
  return isAbsolute(npmCache) && isWritable(existsSync(npmCache) ? npmCache : homedir());
}

function isWritable(directory) {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
