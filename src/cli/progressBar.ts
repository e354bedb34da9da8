import { Presets, SingleBar } from 'cli-progress';
import type { ImportProgress } from './importLines';

export interface ProgressBar {
  update(progress: ImportProgress): void;
  stop(): void;
}

/**
 * A bar on stderr, which leaves stdout to the result.
 *
 * @param totalBytes of the input; without it (a pipe) only the count grows
 * @param stream a terminal
 */
export function progressBar(
  shown: boolean,
  totalBytes: number | undefined,
  stream: NodeJS.WritableStream = process.stderr,
): ProgressBar {
  if (!shown) return { update: () => undefined, stop: () => undefined };
  const format = totalBytes
    ? '{bar} {percentage}% | {events} events | line {line} | {eta_formatted} left'
    : '{events} events | line {line} | {duration_formatted}';
  const bar = new SingleBar({ format, stream, hideCursor: true, gracefulExit: false }, Presets.shades_grey);
  bar.start(totalBytes ?? 0, 0, { events: 0, line: 0 });
  return {
    update: ({ bytes, events, nextLine }) =>
      bar.update(bytes, { events: events.toLocaleString('en-US'), line: nextLine - 1 }),
    stop: () => bar.stop(),
  };
}
