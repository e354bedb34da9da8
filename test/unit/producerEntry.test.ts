import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..');

/** Runs in a process of its own, since this one has loaded everything already; needs `dist/`, which `npm test` builds. */
function inChild(script: string): unknown {
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' }));
}

const LOADED = `Object.keys(require.cache).map((file) => file.replaceAll('\\\\', '/'))`;
const HEAVY = /\/node_modules\/(@temporalio|nats|@nats-io|lossless-json|@standard-schema)\//;

describe('the entry temporal-outbox/producer', () => {
  it('offers what a producer needs, and loads neither Temporal nor NATS', () => {
    const { names, files } = inChild(
      `const entry = require('temporal-outbox/producer');
       console.log(JSON.stringify({ names: Object.keys(entry).sort(), files: ${LOADED} }))`,
    ) as { names: string[]; files: string[] };
    expect(names).toEqual(
      expect.arrayContaining([
        'DeadLetterError',
        'EnqueueError',
        'NotHandledError',
        'enqueueEvents',
        'waitUntilHandled',
      ]) as string[],
    );
    expect(files.some((file) => file.endsWith('/dist/outbox/enqueue.js'))).toBe(true);
    expect(files.filter((file) => HEAVY.test(file))).toEqual([]);
  });

  it('loads neither when it is used', () => {
    const { statements, files } = inChild(
      `const { enqueueEvents } = require('temporal-outbox/producer');
       let statements = 0;
       const tx = { query: () => { statements++; return Promise.resolve({ rows: [] }); } };
       enqueueEvents(tx, [{ type: 'T', aggregateType: 't', aggregateId: 'a', payload: 1, headers: { a: 'é' } }]).then(() =>
         console.log(JSON.stringify({ statements, files: ${LOADED} })))`,
    ) as { statements: number; files: string[] };
    expect(statements).toBe(1);
    expect(files.filter((file) => HEAVY.test(file))).toEqual([]);
  });

  it('is told from the main entry, which loads both', () => {
    const files = inChild(`require('temporal-outbox'); console.log(JSON.stringify(${LOADED}))`) as string[];
    expect(files.some((file) => file.includes('/node_modules/@temporalio/'))).toBe(true);
    expect(files.some((file) => file.includes('/node_modules/@nats-io/'))).toBe(true);
  });
});
