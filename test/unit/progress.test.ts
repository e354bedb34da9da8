import { progressBar } from '../../src/cli/progressBar';
import { progressCount } from '../../src/cli/progressCount';
import { pruneBar } from '../../src/cli/pruneBar';
import { eventually } from '../support/eventually';
import { FakeTerminal } from '../support/terminal';

const CURSOR_SHOWN = '\u001b[?25h';
const shows = (terminal: FakeTerminal, text: RegExp) =>
  eventually(() => text.test(terminal.line) || Promise.reject(new Error(JSON.stringify(terminal.line))), 5_000);

describe('the bar of enqueue', () => {
  const progress = (bytes: number, events: number, nextLine: number) => ({ bytes, events, nextLine, transactions: 1 });

  test('shows which part of a file is read, how many events and lines that is, and stays where it ended', async () => {
    const terminal = new FakeTerminal();
    const bar = progressBar(true, 200, terminal);
    await shows(terminal, /0% \| 0 events \| line 0/);
    bar.update(progress(50, 1_234, 1_300));
    await shows(terminal, /25% \| 1,234 events \| line 1299 \| \S+ left/);
    bar.update(progress(200, 5_000, 5_001));
    bar.stop();
    expect(terminal.line).toMatch(/100% \| 5,000 events \| line 5000/);
    expect(terminal.written).toContain(CURSOR_SHOWN);
  });

  test('of a pipe counts only, since nobody knows its end', async () => {
    const terminal = new FakeTerminal();
    const bar = progressBar(true, undefined, terminal);
    bar.update(progress(50, 7, 8));
    await shows(terminal, /^7 events \| line 7 \| /);
    bar.stop();
    expect(terminal.written).not.toContain('%');
  });

  test('writes nothing when it is not wanted', () => {
    const terminal = new FakeTerminal();
    const bar = progressBar(false, 200, terminal);
    bar.update(progress(50, 7, 8));
    bar.stop();
    expect(terminal.written).toBe('');
  });
});

describe('the count of drain and reconcile', () => {
  test('shows its text with the time that it took, and is gone afterwards', async () => {
    const terminal = new FakeTerminal();
    const count = progressCount(true, terminal);
    count.update('1,200 published');
    await shows(terminal, /^1,200 published \| \d+s/);
    count.update('2,400 published');
    await shows(terminal, /^2,400 published/);
    count.stop();
    expect(terminal.line.trim()).toBe('');
    expect(terminal.written).toContain(CURSOR_SHOWN);
  });

  test.each([
    ['where there is no terminal', true, false],
    ['when it is not wanted', false, true],
  ])('writes nothing %s', (_, shown, isTTY) => {
    const terminal = new FakeTerminal(isTTY);
    const count = progressCount(shown, terminal);
    count.update('1,200 published');
    count.stop();
    expect(terminal.written).toBe('');
  });
});

describe('the bar of prune', () => {
  test('shows of each kind how many of its rows are removed, and is gone afterwards', async () => {
    const terminal = new FakeTerminal();
    const bar = pruneBar(true, 'ledger', terminal);
    bar.begin(2_000);
    bar.update(500);
    await shows(terminal, /^ledger +\S+ 25% \| 500 of 2000 rows \| \S+ left/);
    bar.stop();
    expect(terminal.line.trim()).toBe('');
    expect(terminal.written).toContain(CURSOR_SHOWN);
  });

  test('is not begun for a kind of which nothing is to be removed', () => {
    const terminal = new FakeTerminal();
    const bar = pruneBar(true, 'done', terminal);
    bar.begin(0);
    bar.update(0);
    bar.stop();
    expect(terminal.written).toBe('');
  });
});
