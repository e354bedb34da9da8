import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorker, defineHandler, type Handler, type HandledEvent } from 'temporal-outbox';
import type { Connection } from '../../src/adapters/postgres/connection';
import { EVENTS } from '../../src/events';
import { createHandlers } from '../../src/handlers/createHandlers';
import { openAdapters } from '../../src/openAdapters';
import { readWorkerSettings } from '../../src/settings';

/**
 * What is done to each handler.
 * `killed`: the worker dies by SIGKILL before the first event that the handler takes, and when it has done all that it does
 * for the first one, before that is committed or entered. `twice`: it runs, commits, and runs again, as when its entry in
 * the ledger was lost. `at once`: it runs twice at the same time, each in a transaction of its own.
 */
export type Rig = 'killed' | 'twice' | 'at once';

/** The application's worker with rigged handlers: RIG says how, RIG_DIRECTORY remembers who died where. */
async function main(): Promise<void> {
  const rig = process.env.RIG as Rig;
  const adapters = openAdapters(readWorkerSettings(process.env));
  const handlers = createHandlers(adapters).map((handler) => rigged(handler, rig, adapters.connection));
  try {
    await createWorker({ handlers, events: EVENTS }).run();
  } finally {
    await adapters.close();
  }
}

function rigged(handler: Handler, rig: Rig, connection: Connection): Handler {
  const { name, timeoutMs } = handler;
  const events = handler.types.map((type) => handler.definitions.get(type) ?? type);
  /** One whole run, committed. */
  const whole = async (event: HandledEvent, signal: AbortSignal) => {
    if (handler.transactional)
      await connection.transaction(async (tx) => {
        await handler.run(event, { tx: tx as never, signal, attempt: 1 });
      });
    else await handler.run(event, { signal, attempt: 1, idempotencyKey: `${event.eventId}:${name}` });
  };
  if (rig === 'at once') {
    const run = async (event: HandledEvent, { signal }: { signal: AbortSignal }) => {
      // Both to their end, so that none goes on behind the attempt.
      const [one, two] = await Promise.allSettled([whole(event, signal), whole(event, signal)]);
      for (const outcome of [one, two]) if (outcome.status === 'rejected') throw outcome.reason;
    };
    return defineHandler({ name, events, timeoutMs, run });
  }
  const first = async (event: HandledEvent, signal: AbortSignal) => {
    if (rig === 'twice') await whole(event, signal);
    else dieOnce(name, 'before');
  };
  const last = () => {
    if (rig === 'killed') dieOnce(name, 'after');
  };
  if (handler.transactional) {
    return defineHandler({
      ...{ name, events, timeoutMs },
      transactional: true,
      run: async (event: HandledEvent, context) => {
        await first(event, context.signal);
        await handler.run(event, context);
        last();
      },
    });
  }
  return defineHandler({
    ...{ name, events, timeoutMs },
    run: async (event: HandledEvent, context) => {
      await first(event, context.signal);
      await handler.run(event, context);
      last();
    },
  });
}

function dieOnce(name: string, when: 'before' | 'after'): void {
  const mark = join(process.env.RIG_DIRECTORY ?? '', `${name} ${when}`);
  if (existsSync(mark)) return;
  writeFileSync(mark, '');
  process.kill(process.pid, 'SIGKILL');
}

main().catch((error: unknown) => {
  process.stderr.write(`The worker could not start: ${(error as Error).message}\n`);
  process.exitCode = 1;
});
