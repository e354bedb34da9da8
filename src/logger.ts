import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';
import type { Config } from './config';

export type { Logger } from 'pino';

/**
 * What stands on each line about an event, under the same names everywhere, so that one search finds its story. Never its
 * payload. An event with several handlers has a line for each.
 */
export interface EventFields {
  readonly eventId: string;
  readonly eventType: string;
  readonly handler: string;
  /** The attempt that has ended, from 1; 0 when none has. */
  readonly attempt: number;
}

/**
 * The log, on stderr so that a verb's result on stdout can be piped. Written synchronously: the last line before a
 * process ends is the one that is wanted.
 *
 * @param forEyes readable lines instead of for a collector; default: when stderr is a terminal
 */
export function createLogger(level: Config['logLevel'], forEyes = process.stderr.isTTY): Logger {
  const destination = forEyes
    ? pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' })
    : pino.destination({ dest: 2, sync: true });
  return pino(
    {
      level,
      // Collectors agree on names such as "info" and on ISO time; pino's numbers are its own.
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: errorFields, error: errorFields },
    },
    destination,
  );
}

/** How far a chain of causes is followed: enough for driver below library below us, and no loop can hold it up. */
const MAX_CAUSES = 5;

/**
 * Named fields only. A `pg` error also carries the values that it complains about (`detail`, `where`), which are
 * somebody's data.
 */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const causes: string[] = [];
  for (let at = error.cause; at instanceof Error && causes.length < MAX_CAUSES; at = at.cause) causes.push(at.message);
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(code !== undefined && { code }),
    ...(causes.length > 0 && { causes }),
    stack: error.stack,
  };
}
