import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { cacheDirectory } from '../../src/servers/cacheDirectory';

const ON_PATH = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chromium-headless-shell'];

/** An npm package that holds a headless Chromium for Linux on x64, compressed, with the libraries that a bare image lacks. */
const PINNED = {
  name: '@sparticuz/chromium',
  version: '153.0.0',
  sha512:
    '8e2196a92bcf31dbb8f8ff538a562a011ef21063c41c8371fa50af13f36a34efc41d8cc5ff1d615222394fa8a8548b7b744cbb9fcf1bcb24f4be4f9d9ec810c0',
};

export interface Chromium {
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The system's Chromium, else one fetched through npm into the cache; else the sentence that says what to install. */
export function findChromium(): Chromium | string {
  const problems: string[] = [];
  for (const file of onPath()) {
    const problem = whyUnusable({ file, env: {} });
    if (!problem) return { file, env: {} };
    problems.push(problem);
  }
  if (process.platform === 'linux' && process.arch === 'x64') {
    try {
      const chromium = fetched();
      const problem = whyUnusable(chromium);
      if (!problem) return chromium;
      problems.push(problem);
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  return ['no Chromium: install `chromium` (Debian, Homebrew) so that it is on PATH', ...problems].join('; ');
}

function onPath(): string[] {
  const directories = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return ON_PATH.flatMap((name) => directories.map((directory) => join(directory, name))).filter(existsSync);
}

function whyUnusable({ file, env }: Chromium): string | undefined {
  const { status, stderr, error } = spawnSync(file, ['--version'], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: 60_000,
  });
  return status === 0 ? undefined : `${file} does not run (${error?.message ?? stderr.trim()})`;
}

/** @throws Error when npm cannot fetch it, or gives another file than the pinned one */
function fetched(): Chromium {
  const directory = join(cacheDirectory(), `chromium-${PINNED.version}-linux-x64`);
  const chromium = { file: join(directory, 'chromium'), env: { LD_LIBRARY_PATH: join(directory, 'lib') } };
  if (existsSync(chromium.file)) return chromium;
  const fresh = mkdtempSync(`${directory}-`);
  try {
    unpack(pack(fresh), fresh);
    const part = (name: string) => brotliDecompressSync(readFileSync(join(fresh, 'package', 'bin', `${name}.br`)));
    run('tar', ['-xf', '-'], fresh, part('al2023.tar'));
    writeFileSync(join(fresh, 'chromium'), part('chromium'), { mode: 0o755 });
    rmSync(join(fresh, 'package'), { recursive: true });
    // Whole or not at all, also when two processes fetch it.
    renameSync(fresh, directory);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(chromium.file)) throw error;
  }
  return chromium;
}

/** @returns the package's file, below `directory` */
function pack(directory: string): string {
  const { name, version, sha512 } = PINNED;
  const file = join(directory, run('npm', ['pack', '--loglevel', 'error', `${name}@${version}`], directory).trim());
  if (createHash('sha512').update(readFileSync(file)).digest('hex') !== sha512)
    throw new Error(`npm gave another ${name} ${version} than the one that was tested`);
  return file;
}

function unpack(file: string, directory: string): void {
  run('tar', ['-xzf', file], directory);
  rmSync(file);
}

function run(command: string, args: string[], cwd: string, input?: Buffer): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    input,
    encoding: 'utf8',
    timeout: 300_000,
  });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args[0]} failed (${error?.message ?? stderr.trim().split('\n')[0] ?? ''})`);
}
