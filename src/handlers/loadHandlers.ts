import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { HandlerError } from '../errors';
import type { RunWorkerOptions } from '../runWorker';
import { isHandler, type Handler } from './defineHandler';

type Loaded = Pick<RunWorkerOptions, 'handlers' | 'events' | 'redactFailure' | 'archive'>;

/**
 * Reads handlers from a module: its export `handlers` (an array), or every handler that it exports; with `events`,
 * `redactFailure` and `archive` when it exports those.
 *
 * @param path relative to the working directory; CommonJS or ES module, and TypeScript where the process can load it
 * @throws HandlerError that names the module when it cannot be loaded or has no handlers
 */
export async function loadHandlers(path: string): Promise<Loaded> {
  let module: Record<string, unknown>;
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>;
  } catch (error) {
    throw new HandlerError(`The handlers' module ${path} cannot be loaded: ${(error as Error).message}`, {
      cause: error,
    });
  }
  // What a CommonJS module exports stands under `default` when it could not be told beforehand.
  const exported = { ...(module.default as Record<string, unknown> | undefined), ...module };
  const { events, redactFailure, archive } = exported as Loaded;
  const handlers = Array.isArray(exported.handlers)
    ? (exported.handlers as Handler[])
    : Object.values(exported).filter(isHandler);
  if (handlers.length === 0) {
    throw new HandlerError(
      `The module ${path} exports no handlers: export \`handlers\`, an array of what defineHandler returns`,
    );
  }
  return { handlers, ...(events && { events }), ...(redactFailure && { redactFailure }), ...(archive && { archive }) };
}
