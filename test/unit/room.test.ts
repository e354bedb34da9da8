import { Room } from '../../src/handlers/room';

describe('the room for events', () => {
  let now = 0;
  beforeEach(() => {
    now = 1_000;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());

  /** Handles so many events a second for some seconds. */
  const handle = (room: Room, perSecond: number, seconds: number) => {
    for (let at = 0; at < seconds * 10; at++) {
      for (let n = 0; n < perSecond / 10; n++) room.settled();
      now += 100;
      room.limit();
    }
  };

  it('is what can be started at once while nothing has been handled', () => {
    expect(new Room(32, 4_000).limit()).toBe(32);
  });

  it('grows to a quarter of a second of what quick handlers handle', () => {
    const room = new Room(32, 4_000);
    handle(room, 4_000, 2);
    expect(room.limit()).toBeGreaterThan(900);
    expect(room.limit()).toBeLessThanOrEqual(1_000);
  });

  it('stays at its least in front of slow handlers, and never passes its most', () => {
    const slow = new Room(32, 4_000);
    handle(slow, 50, 2);
    expect(slow.limit()).toBe(32);
    const quick = new Room(32, 500);
    handle(quick, 20_000, 2);
    expect(quick.limit()).toBe(500);
  });

  it('shrinks again when handlers have become slow', () => {
    const room = new Room(32, 4_000);
    handle(room, 4_000, 2);
    handle(room, 0, 2);
    expect(room.limit()).toBe(32);
  });

  it('wakes whoever waits at a change, at an abort, and after a while in any case', async () => {
    const room = new Room(32, 4_000);
    const never = new AbortController();
    const woken = room.wait(10_000, never.signal);
    room.settled();
    await woken;
    const stop = new AbortController();
    const aborted = room.wait(10_000, stop.signal);
    stop.abort();
    await aborted;
    await expect(room.wait(10_000, never.signal)).resolves.toBeUndefined();
  });

  it('does not wait at all once it was told to stop', async () => {
    const room = new Room(32, 4_000);
    const timers = jest.spyOn(global, 'setTimeout');
    const stopped = AbortSignal.abort();
    await room.wait(10_000, stopped);
    expect(timers.mock.calls.filter(([, ms]) => ms === 100).length).toBe(0);
  });
});
