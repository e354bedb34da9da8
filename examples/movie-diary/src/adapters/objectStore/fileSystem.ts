import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectStore } from '../../ports/objectStore';
import { checkKey, checkPrefix } from './key';

/** No key begins with a dot, so what lies here is no object. */
const UNFINISHED = '.unfinished';
/** Far longer than writing one takes: what is older has no writer any more. */
const ABANDONED_MS = 60 * 60 * 1_000;

/** Each object a file in a directory that several processes of one machine may share. Media types are not kept. */
export class FileSystemObjectStore implements ObjectStore {
  private swept: Promise<void> | undefined;

  constructor(private readonly directory: string) {}

  async put(key: string, body: Uint8Array, _contentType: string, signal?: AbortSignal): Promise<void> {
    const file = this.fileOf(key);
    signal?.throwIfAborted();
    const unfinished = join(this.directory, UNFINISHED, randomUUID());
    await mkdir(dirname(unfinished), { recursive: true });
    await (this.swept ??= this.sweepOnce(dirname(unfinished)));
    const made = await mkdir(dirname(file), { recursive: true });
    try {
      await writeThrough(unfinished, body, signal);
      await rename(unfinished, file);
    } finally {
      await rm(unfinished, { force: true });
    }
    // Else the machine may forget the name of a file that it has already been told to keep.
    for (let folder = dirname(file); ; folder = dirname(folder)) {
      await syncFolder(folder);
      if (made === undefined || folder.length < made.length) break;
    }
  }

  async get(key: string, signal?: AbortSignal): Promise<Buffer | undefined> {
    return unlessAbsent(readFile(this.fileOf(key), { signal }), undefined);
  }

  async has(key: string, signal?: AbortSignal): Promise<boolean> {
    const file = this.fileOf(key);
    signal?.throwIfAborted();
    return (await unlessAbsent(stat(file), undefined))?.isFile() ?? false;
  }

  async delete(key: string, signal?: AbortSignal): Promise<void> {
    const file = this.fileOf(key);
    signal?.throwIfAborted();
    if (!(await this.has(key))) return;
    await rm(file, { force: true });
    await syncFolder(dirname(file));
  }

  async list(prefix: string, signal?: AbortSignal): Promise<string[]> {
    checkPrefix(prefix);
    signal?.throwIfAborted();
    const keys = await this.keysIn(prefix.slice(0, prefix.lastIndexOf('/') + 1));
    return keys.filter((key) => key.startsWith(prefix)).sort();
  }

  private async sweepOnce(folder: string): Promise<void> {
    try {
      await sweep(folder);
    } catch (error) {
      // Else one failure would be that of every further put.
      this.swept = undefined;
      throw error;
    }
  }

  private async keysIn(folder: string): Promise<string[]> {
    const entries = await unlessAbsent(readdir(join(this.directory, folder), { withFileTypes: true }), []);
    const keys: string[] = [];
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue;
      if (entry.isDirectory()) keys.push(...(await this.keysIn(`${folder}${entry.name}/`)));
      else if (entry.isFile()) keys.push(`${folder}${entry.name}`);
    }
    return keys;
  }

  private fileOf(key: string): string {
    checkKey(key);
    return join(this.directory, key);
  }
}

/** Removes what writers that were killed have left behind. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const found = await unlessAbsent(stat(file), undefined);
    // eslint-disable-next-line no-restricted-syntax -- the files' times are of this host's clock too
    if (found && Date.now() - found.mtimeMs > ABANDONED_MS) await rm(file, { force: true });
  }
}

async function writeThrough(file: string, body: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
  const handle = await open(file, 'wx');
  try {
    await handle.writeFile(body, { signal });
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'EISDIR']);

async function unlessAbsent<T, U>(looked: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await looked;
  } catch (error) {
    if (ABSENT.has(String((error as NodeJS.ErrnoException).code))) return otherwise;
    throw error;
  }
}
