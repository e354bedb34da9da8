import { Presets, SingleBar } from 'cli-progress';

export interface Progress {
  update(done: number): void;
  end(): void;
}

/** A bar on a terminal; elsewhere one line at the end, so that a log stays short. */
export function progress(what: string, total: number): Progress {
  let last = 0;
  if (!process.stdout.isTTY) {
    return { update: (done) => (last = done), end: () => console.log(`${what}: ${last} of ${total}`) };
  }
  const bar = new SingleBar(
    { format: `${what.padEnd(10)} {bar} {value}/{total}`, hideCursor: true, stream: process.stdout },
    Presets.rect,
  );
  bar.start(total, 0);
  return { update: (done) => bar.update(done), end: () => bar.stop() };
}
