import { defineHandler } from '../../dist/index.js';

/** For a worker that is lost in an attempt: ends its process where `DEADLY` says so, and only fails otherwise. */
export const mended = defineHandler({
  name: 'mended',
  events: ['ThingHappened'],
  run: () => {
    if (process.env.DEADLY === 'on') process.kill(process.pid, 'SIGKILL');
    throw new Error('no');
  },
});
