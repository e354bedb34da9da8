// Type check, lint, formatting and audit. Lint takes as long as all others together: it runs beside them, each on a core.
// What a step says is printed as a whole when the step ends; the first that fails ends the check, as with `&&`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** Run by Node itself, since a shell's way of finding them differs from system to system. */
const bin = (path, ...args) => [join('node_modules', path), ...args];
const LANES = [
  [bin('eslint/bin/eslint.js', '.')],
  [
    bin('typescript/bin/tsc', '--noEmit'),
    bin('prettier/bin/prettier.cjs', '--check', '--log-level', 'warn', '.'),
    [join('scripts', 'audit.mjs')],
  ],
];

const running = new Set();
let code = 0;

function step(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      // As on a terminal, when there is one.
      env: process.stdout.isTTY ? { FORCE_COLOR: '1', ...process.env } : process.env,
    });
    running.add(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
    child.on('error', (error) => (said += `${error.message}\n`));
    child.on('close', (status) => {
      running.delete(child);
      // One that was ended because another failed has nothing to say.
      if (code === 0) {
        process.stdout.write(said);
        if (status !== 0) {
          code = status ?? 1;
          for (const other of running) other.kill();
        }
      }
      resolve();
    });
  });
}

async function lane(steps) {
  for (const args of steps) if (code === 0) await step(args);
}

await Promise.all(LANES.map(lane));
process.exitCode = code;
