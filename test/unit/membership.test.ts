import { RelayMismatchError } from '../../src/errors';
import { Membership } from '../../src/consumer/membership';
import { createLogger } from '../../src/logger';

const timings = { ownQueueTimeoutMs: 3_000, heartbeatTimeoutMs: 5_000, backoffMaxMs: 300_000 };
const refused = () => new RelayMismatchError('it differs from the running consumer');
const unavailable = () => new Error('Temporal or PostgreSQL does not answer');

let joins: number;
let failure: (() => Error) | undefined;

beforeEach(() => {
  jest.useFakeTimers();
  joins = 0;
  failure = undefined;
});
afterEach(() => jest.useRealTimers());

async function joined(): Promise<Membership> {
  const join = () => {
    joins++;
    return failure ? Promise.reject(failure()) : Promise.resolve();
  };
  const membership = new Membership({ join, timings, logger: createLogger('silent') });
  await membership.start();
  joins = 0;
  return membership;
}

describe('a worker of which nothing is asked', () => {
  test.each([
    ['that succeeds', undefined],
    ['that is refused', refused],
  ])('joins again, each time later, after a join %s', async (_, outcome) => {
    const membership = await joined();
    failure = outcome;
    await jest.advanceTimersByTimeAsync(11_000);
    expect(joins).toBe(1);
    await jest.advanceTimersByTimeAsync(21_000);
    expect(joins).toBe(1);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(joins).toBe(2);
    membership.leave();
  });

  // Found by `npm run torture -- --seed 201 --minutes 30 --backend nats --rate 6`: it waited for up to five minutes.
  test('tries again after two seconds when a join has failed, however often, and then as if none had', async () => {
    const membership = await joined();
    failure = unavailable;
    await jest.advanceTimersByTimeAsync(11_000 + 600_000);
    expect(joins).toBe(301);
    failure = undefined;
    await jest.advanceTimersByTimeAsync(2_000);
    expect(joins).toBe(302);
    await jest.advanceTimersByTimeAsync(21_000);
    expect(joins).toBe(302);
    membership.leave();
  });

  test('joins no more once it has left, or while something is asked of it', async () => {
    const membership = await joined();
    failure = unavailable;
    let end = (): void => undefined;
    const running = membership.during(() => new Promise<void>((resolve) => (end = resolve)));
    await jest.advanceTimersByTimeAsync(60_000);
    expect(joins).toBe(0);
    end();
    await running;
    membership.leave();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(joins).toBe(0);
  });
});
