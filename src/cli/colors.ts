import pico from 'picocolors';

const { env, stdout } = process;

/**
 * Colours for people: on a terminal only. Not the library's own guess, which turns them on wherever CI is set, and would
 * put escapes into files and pipes there. NO_COLOR and FORCE_COLOR are heeded as usual.
 */
const wanted = env.FORCE_COLOR ? env.FORCE_COLOR !== '0' : stdout.isTTY === true && env.TERM !== 'dumb';

export const colors = pico.createColors(wanted && !env.NO_COLOR);
