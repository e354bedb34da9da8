#!/usr/bin/env node
import { run } from './cli/program';

/** A handle that a library left open must not keep a finished command alive. */
const LINGER_MS = 500;

// `outbox dead list | head`: who reads has seen enough, which is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

// A promise of a user's module may never settle: with nothing left to wait for, Node would end with 0, as if all were done.
let ended = false;
process.once('beforeExit', () => {
  if (ended) return;
  console.error(
    'error: nothing is left to wait for, and the verb is not through: something that it called never answers.',
  );
  process.exitCode = 1;
});

void run(process.argv).then((code) => {
  ended = true;
  process.exitCode = code;
  setTimeout(() => process.exit(), LINGER_MS).unref();
});
