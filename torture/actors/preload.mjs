/**
 * Loaded into a storm's worker before its own code. Moves its wall clock by as many milliseconds as a file says, and
 * writes down when the process stood still: frozen, or on a machine that had no time for it.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setInterval } from 'node:timers';
import { isMainThread } from 'node:worker_threads';

const LOOK_EVERY_MS = 100;
const STILL_MS = 1_000;

const now = () => Number(process.hrtime.bigint() / 1_000n) / 1_000;

// Threads of the workflow sandbox have a clock of their own making.
if (isMainThread && process.env.TORTURE_JOURNAL) {
  const RealDate = Date;
  let shiftMs = 0;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given, of) =>
      given.length === 0
        ? Reflect.construct(target, [RealDate.now() + shiftMs], of)
        : Reflect.construct(target, given, of),
    apply: () => new RealDate(RealDate.now() + shiftMs).toString(),
    get: (target, name, receiver) =>
      name === 'now' ? () => RealDate.now() + shiftMs : Reflect.get(target, name, receiver),
  });

  let looked = now();
  setInterval(() => {
    const at = now();
    if (at - looked > STILL_MS) {
      const file = join(process.env.TORTURE_JOURNAL, `worker-${process.pid}`);
      appendFileSync(file, `${JSON.stringify({ kind: 'still', pid: process.pid, from: looked, to: at })}\n`);
    }
    looked = at;
    try {
      shiftMs = Number(readFileSync(process.env.TORTURE_CLOCK, 'utf8'));
    } catch {
      shiftMs = 0;
    }
  }, LOOK_EVERY_MS).unref();
}
