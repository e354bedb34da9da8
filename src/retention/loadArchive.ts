import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ArchiveError } from '../errors';
import type { Archive } from './archive';

/**
 * Reads the export `archive` of a module.
 *
 * @param path relative to the working directory
 * @throws ArchiveError that names the module when it cannot be loaded or has none
 */
export async function loadArchive(path: string): Promise<Archive> {
  let module: Record<string, unknown>;
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>;
  } catch (error) {
    throw new ArchiveError(`The archive's module ${path} cannot be loaded: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const { archive } = { ...(module.default as Record<string, unknown> | undefined), ...module };
  if (typeof archive === 'function') return archive as Archive;
  throw new ArchiveError(`The module ${path} exports no function \`archive\``);
}
