import pico from 'picocolors';
import type { WriteStream } from 'node:tty';

/**
 * Colours for people: on a terminal only. Not the library's own guess, which turns them on wherever CI is set, and would
 * put escapes into files and pipes there. NO_COLOR and FORCE_COLOR are heeded as usual.
 */
function colorsFor({ isTTY }: Pick<WriteStream, 'isTTY'>) {
  const { FORCE_COLOR, NO_COLOR, TERM } = process.env;
  const wanted = FORCE_COLOR ? FORCE_COLOR !== '0' : isTTY && TERM !== 'dumb';
  return pico.createColors(Boolean(wanted) && !NO_COLOR);
}

export const colors = colorsFor(process.stdout);
export const errorColors = colorsFor(process.stderr);
