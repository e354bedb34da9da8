#!/usr/bin/env node
import { run } from './cli/program';

/** A handle that a library left open must not keep a finished command alive. */
const LINGER_MS = 5_000;

// `outbox dead list | head`: who reads has seen enough, which is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

void run(process.argv).then((code) => {
  process.exitCode = code;
  setTimeout(() => process.exit(), LINGER_MS).unref();
});
