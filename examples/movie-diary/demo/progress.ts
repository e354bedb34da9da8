import { Presets, SingleBar } from 'cli-progress';

export interface Progress {
  /** @param total when it has grown */
  update(done: number, total?: number): void;
  end(): void;
}

/** A bar on a terminal; elsewhere one line at the end, so that a log stays short. */
export function progress(what: string, total: number): Progress {
  if (!process.stdout.isTTY) {
    let last = [0, total];
    return {
      update: (done, of = last[1]) => (last = [done, of ?? 0]),
      end: () => console.log(`${what}: ${last[0]} of ${last[1]}`),
    };
  }
  const bar = new SingleBar(
    { format: `${what.padEnd(10)} {bar} {value}/{total}`, hideCursor: true, stream: process.stdout },
    Presets.rect,
  );
  bar.start(total, 0);
  return {
    update: (done, of) => {
      if (of !== undefined) bar.setTotal(of);
      bar.update(done);
    },
    end: () => bar.stop(),
  };
}
