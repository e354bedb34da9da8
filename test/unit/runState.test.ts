import { Fresh } from '../../src/telemetry/fresh';
import { RelayState } from '../../src/telemetry/runState';
import { loadConfig } from '../../src/config';

const LONG_POLL_S = 60;
const relay = { ...loadConfig({}).relay, longPollMs: LONG_POLL_S * 1_000 };

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());
const pass = (seconds: number) => jest.advanceTimersByTime(seconds * 1_000);

describe('the state of the relay', () => {
  let questions: number;
  let state: RelayState;
  beforeEach(() => {
    questions = 0;
    state = new RelayState(() => Promise.resolve(`answer ${++questions}`), relay, 2_000);
  });

  test('costs no question as long as the fence moves, as it does with each claim of whatever worker', async () => {
    expect(await state.get(true, '0')).toBe('running');
    for (let minute = 1; minute <= 60; minute++) {
      for (const second of [0, 15, 30, 45]) {
        pass(15);
        expect([second, await state.get(false, `${minute}`)]).toEqual([second, 'running']);
      }
    }
    expect(questions).toBe(0);
  });

  test('is asked for at the first look, and once the fence has stood still for longer than an idle claim', async () => {
    expect(await state.get(false, '7')).toBe('answer 1');
    pass(15);
    expect(await state.get(false, '8')).toBe('running');
    pass(1.5 * LONG_POLL_S - 1);
    expect(await state.get(false, '8')).toBe('running');
    pass(1);
    expect(await state.get(false, '8')).toBe('answer 2');
    pass(15);
    expect(await state.get(false, '8')).toBe('answer 2');
    pass(15);
    expect(await state.get(false, '8')).toBe('answer 3');
    expect(await state.get(true, '8')).toBe('running');
  });

  test('is asked for while the database is away', async () => {
    await state.get(true, '7');
    expect(await state.get(false, undefined)).toBe('answer 1');
  });
});

test('a reading that throws before it has a promise is no answer, and not an error of the scrape', async () => {
  const fresh = new Fresh<string>(
    () => {
      throw new Error('not connected');
    },
    1_000,
    1_000,
  );
  expect(await fresh.get()).toBeUndefined();
});
