import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A directory keeps one diary. The comparison is against the plan of this run, so one of another size beneath it would be
 * taken for a fault.
 *
 * @throws Error that says what is kept there and the way out
 */
export function keepSize(directory: string, films: number, fresh: boolean): void {
  const file = join(directory, 'diary.json');
  if (fresh) {
    rmSync(join(directory, 'objects'), { recursive: true, force: true });
    rmSync(file, { force: true });
  }
  const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { films: number }).films : films;
  if (kept !== films)
    throw new Error(
      `${directory} holds a diary of ${kept} films, and this is one of ${films}: say --films ${kept}, or --fresh to start over, or --directory for another one.`,
    );
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, JSON.stringify({ films }));
}
