import Table from 'cli-table3';
import { colors, errorColors } from './colors';

export { duration } from '../duration';

/** A result, on stdout. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A result for programs: one JSON value, on one line, so that `--watch` gives a line for each look. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

/** A word to the person at the terminal, on stderr: never part of a result. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function warn(text: string): void {
  note(`${errorColors.yellow('warning:')} ${text}`);
}

export function fail(text: string): void {
  note(`${errorColors.red('error:')} ${text}`);
}

/** Text that others wrote, fit for a terminal: control characters could move the cursor or recolour the screen. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}

/** Rows under headings, without frames, so that it can be read and cut by column alike. */
export function table(headings: string[], rows: string[][]): string {
  const bare = new Table({
    head: headings.map((heading) => colors.bold(heading)),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    chars: Object.fromEntries(
      ['top', 'bottom', 'left', 'right', 'mid']
        .flatMap((side) => [side, `${side}-mid`])
        .concat('top-left', 'top-right', 'bottom-left', 'bottom-right', 'mid-mid', 'middle')
        .map((part) => [part, '']),
    ),
  });
  bare.push(...rows);
  return bare
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** `1 event`, `2 events`, `1,234,567 events`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
