import { DeliveryMemory } from '../../src/workflows/deliveryMemory';

const waiting = { handler: 'mail', attempts: 3, dueInMs: 5_000, reason: 'no such host' };

describe('what a delivery run hands to its successor', () => {
  it('is what waits and what is dead, with the rest of the wait, and nothing that is over', () => {
    const memory = new DeliveryMemory();
    memory.receive(waiting, 1_000);
    memory.receive({ ...waiting, handler: 'gone', dead: true }, 1_000);
    memory.receive({ ...waiting, handler: 'fine' }, 1_000)!.state = 'done';
    memory.receive({ ...waiting, handler: 'skipped' }, 1_000)!.state = 'skipped';
    expect(memory.carry(3_000)).toEqual([
      { handler: 'mail', attempts: 3, dueInMs: 3_000, reason: 'no such host', dead: false },
      { handler: 'gone', attempts: 3, dueInMs: 3_000, reason: 'no such host', dead: true },
    ]);
  });

  it('keeps a skip and a retry that were asked for and not carried out yet', () => {
    const memory = new DeliveryMemory();
    const delivery = memory.receive(waiting, 0)!;
    delivery.nudged = true;
    delivery.skip = 'never mind';
    const successor = new DeliveryMemory();
    const [carried] = memory.carry(0).map((each) => successor.receive(each, 9_000));
    expect(carried).toMatchObject({ attempts: 3, dueAt: 9_000, skip: 'never mind', nudged: true, state: 'waiting' });
  });
});

describe('a delivery that is handed over once more', () => {
  it('is brought forward while it waits, and never put off', () => {
    const memory = new DeliveryMemory();
    memory.receive(waiting, 0);
    expect(memory.receive({ ...waiting, dueInMs: 9_000 }, 0)).toBeUndefined();
    expect(memory.get('mail')?.dueAt).toBe(5_000);
    memory.receive({ ...waiting, dueInMs: 0 }, 100);
    expect(memory.get('mail')?.dueAt).toBe(100);
  });

  it('is not brought forward by a sweep that read the table before its last attempt', () => {
    const memory = new DeliveryMemory();
    memory.receive(waiting, 0);
    memory.receive({ ...waiting, attempts: 2, dueInMs: 0 }, 100);
    expect(memory.get('mail')).toMatchObject({ attempts: 3, dueAt: 5_000 });
  });

  it('begins anew when it was over: re-emitted, with the budget that it was given', () => {
    const memory = new DeliveryMemory();
    memory.receive(waiting, 0)!.state = 'dead';
    expect(memory.receive({ ...waiting, attempts: 0, dueInMs: 0 }, 50)).toMatchObject({ attempts: 0, dueAt: 50 });
  });
});
