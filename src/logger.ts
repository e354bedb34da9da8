import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';

export type { Logger } from 'pino';

/**
 * Logs to standard error, so that a command's results on standard output stay clean: JSON for programs, and lines to
 * read on a terminal.
 */
export function createLogger(level: string, forPeople = process.stderr.isTTY): Logger {
  if (forPeople) {
    return pino(
      { level },
      pretty({ destination: 2, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l', sync: true }),
    );
  }
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(2));
}
