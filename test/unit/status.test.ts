import { ratesOf, type Look } from '../../src/cli/rates';
import { Screen } from '../../src/cli/screen';
import { counted, type RecentStep } from '../../src/workflows/recent';

const away = { available: false as const, reason: 'away' };

/** @param databaseMs what the database's clock says; without it the database is away */
function lookAt(atMs: number, published: number, recent: readonly RecentStep[] = [], databaseMs?: number): Look {
  const relay = { available: true, totals: { published }, recent } as unknown as Look['status']['relay'];
  const at = new Date(databaseMs ?? 0).toISOString();
  const database = databaseMs === undefined ? away : ({ available: true, at } as Look['status']['database']);
  return { atMs, status: { relay, consumer: null, stream: null, database, deliveryRuns: away, maintenance: away } };
}

describe('rates', () => {
  test('of one look are those of the last minute, as the relay remembers it', () => {
    let steps: readonly RecentStep[] = [];
    for (const second of [0, 1, 50, 90]) steps = counted(steps, 60, new Date(1_000 * second));
    expect(ratesOf(lookAt(0, 240, steps, 95_000), undefined)).toMatchObject({ published: 2, handled: null });
    // The relay has been idle since, so that nothing has been taken out of its memory.
    expect(ratesOf(lookAt(0, 240, steps, 400_000), undefined)).toMatchObject({ published: 0 });
  });

  test('of the last minute do not depend on the clock of whoever asks, and are unknown while no other tells the time', () => {
    const steps = counted([], 120, new Date(1_000_000));
    jest.useFakeTimers({ now: 1_000_000 + 3_600_000, doNotFake: ['performance'] });
    expect(ratesOf(lookAt(0, 120, steps, 1_010_000), undefined)).toMatchObject({ published: 2 });
    expect(ratesOf(lookAt(0, 120, steps), undefined)).toMatchObject({ published: null });
    jest.useRealTimers();
  });

  test('of two looks are those between them; of a relay that was started anew they are not known', () => {
    expect(ratesOf(lookAt(2_000, 110), lookAt(0, 100))).toMatchObject({ over: 'the last look', published: 5 });
    expect(ratesOf(lookAt(2_000, 10), lookAt(0, 100)).published).toBeNull();
  });

  test('need a memory of a minute, however much happens', () => {
    let steps: readonly RecentStep[] = [];
    for (let at = 0; at < 600_000; at += 100) steps = counted(steps, 1, new Date(at));
    expect(steps.length).toBeLessThan(15);
    expect(JSON.stringify(steps).length).toBeLessThan(400);
  });
});

describe('the screen of --watch', () => {
  test('writes each page over the one before in one piece, and clears at the first only', () => {
    const written: string[] = [];
    const screen = new Screen({ rows: 4, write: (text: unknown) => written.push(String(text)) > 0 });
    screen.show('one\ntwo\nthree\nfour\nfive');
    screen.show('1\n2');
    screen.close();
    expect(written).toHaveLength(3);
    expect(written[0]).toContain('\u001b[2J');
    // What does not fit would make it scroll.
    expect(written[0]).not.toContain('four');
    expect(written[1]).toBe('\u001b[H1\u001b[K\n2\u001b[K\n\u001b[J');
    expect(written[2]).toContain('\u001b[?25h');
  });
});
