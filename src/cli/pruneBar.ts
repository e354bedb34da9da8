import { Presets, SingleBar } from 'cli-progress';
import type { Kind } from '../retention/policy';

export interface PruneBar {
  readonly shown: boolean;
  /** @param rows what there is to remove */
  begin(rows: number): void;
  update(rows: number): void;
  stop(): void;
}

/** A bar on stderr for one kind of rows, which leaves stdout to the result. */
export function pruneBar(shown: boolean, kind: Kind, stream: NodeJS.WritableStream = process.stderr): PruneBar {
  const format = `${kind.padEnd(7)} {bar} {percentage}% | {value} of {total} rows | {eta_formatted} left`;
  const bar = new SingleBar(
    { format, stream, hideCursor: true, gracefulExit: false, clearOnComplete: true },
    Presets.shades_grey,
  );
  let begun = false;
  return {
    shown,
    begin: (rows) => {
      if (rows === 0) return;
      begun = true;
      bar.start(rows, 0);
    },
    update: (rows) => {
      if (begun) bar.update(rows);
    },
    stop: () => {
      if (begun) bar.stop();
    },
  };
}
