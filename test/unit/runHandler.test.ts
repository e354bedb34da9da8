import { defineHandler } from '../../src/handlers/defineHandler';
import { readEvent } from '../../src/handlers/readEvent';
import { runHandler, type Run } from '../../src/handlers/runHandler';
import type { Loss } from '../../src/ledger/leases';
import { eventRecord } from '../support/attempts';

const held = (): Loss => ({ reason: undefined, listener: undefined });
const never = new AbortController().signal;

async function enter(
  run: (signal: () => AbortSignal) => unknown,
  { timeoutMs = 60_000, ...over }: Partial<Run> & { timeoutMs?: number } = {},
) {
  const handler = defineHandler({
    name: 'call',
    events: ['ThingHappened'],
    timeoutMs,
    run: (_event, context) => run(() => context.signal),
  });
  const reading = await readEvent(handler, eventRecord());
  if (reading.kind !== 'ready') throw new Error('the event cannot be read');
  return runHandler(handler, reading.event, {
    ...{ attempt: 1, ending: never, endingGraceMs: 50, loss: held(), spans: { start: () => undefined } },
    ...over,
  });
}

describe('a handler', () => {
  it('is not entered when its ledger claim was lost while it waited: somebody else may be at work on it', async () => {
    let entered = 0;
    const result = await enter(() => entered++, { loss: { ...held(), reason: 'its lease is over' } });
    expect({ entered, result }).toEqual({ entered: 0, result: { kind: 'not entered', reason: 'its lease is over' } });
  });

  it('is not entered, and not charged, when the grace of the worker is nearly over', async () => {
    let entered = 0;
    const result = await enter(() => entered++, { ending: AbortSignal.abort() });
    expect({ entered, result }).toEqual({ entered: 0, result: { kind: 'interrupted', ended: true } });
  });

  it('gets one signal, whenever it asks, which has fired when its time is over', async () => {
    const signals: AbortSignal[] = [];
    const result = await enter(
      async (signal) => {
        signals.push(signal());
        await new Promise((resolve) => signal().addEventListener('abort', resolve));
        signals.push(signal());
      },
      { timeoutMs: 20 },
    );
    expect(result).toEqual({ kind: 'ran' });
    expect(new Set(signals).size).toBe(1);
    expect(String(signals[0]?.reason)).toContain('it took longer than 20 ms');
  });

  it('that asks for its signal only after its time is over finds it fired', async () => {
    let fired: boolean | undefined;
    await enter(
      async (signal) => {
        await new Promise((resolve) => setTimeout(resolve, 60));
        fired = signal().aborted;
      },
      { timeoutMs: 20 },
    );
    expect(fired).toBe(true);
  });
});
