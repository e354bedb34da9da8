import { transformSync } from '@swc/core';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../build';

const SOURCE = join(__dirname, 'handlers.ts');

/**
 * Writes the module of handlers as JavaScript.
 *
 * @returns the settings of a process that loads it, which names it itself under `BENCH_HANDLERS`
 */
export function writeHandlers(directory: string): { BENCH_HANDLERS: string; BENCH_DEFINE_HANDLER: string } {
  const module = join(directory, 'handlers.cjs');
  const { code } = transformSync(readFileSync(SOURCE, 'utf8'), {
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'commonjs' },
  });
  writeFileSync(module, code);
  return { BENCH_HANDLERS: module, BENCH_DEFINE_HANDLER: join(ROOT, 'dist', 'handlers', 'defineHandler.js') };
}
