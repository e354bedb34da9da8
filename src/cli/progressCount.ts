import { Presets, SingleBar } from 'cli-progress';

export interface ProgressCount {
  readonly update: (text: string) => void;
  readonly stop: () => void;
}

/** A line on stderr that counts, for work whose end is not known beforehand; only on a terminal, and only while it lasts. */
export function progressCount(
  shown: boolean,
  stream: NodeJS.WritableStream & { readonly isTTY?: boolean } = process.stderr,
): ProgressCount {
  if (!shown || !stream.isTTY) return { update: () => undefined, stop: () => undefined };
  const bar = new SingleBar(
    { format: '{text} | {duration_formatted}', stream, hideCursor: true, clearOnComplete: true },
    Presets.shades_grey,
  );
  bar.start(0, 0, { text: '' });
  return { update: (text) => bar.update(0, { text }), stop: () => bar.stop() };
}
