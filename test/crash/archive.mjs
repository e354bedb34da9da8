/** An archive that keeps what it is given in lines of a file, and at which a process can be killed. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

export function archive({ table, rows }) {
  globalThis.crashPoint?.('archive', table);
  const lines = rows.map((row) => JSON.stringify({ table, row: JSON.parse(row) }));
  appendFileSync(join(process.env.CRASH_DIRECTORY, 'archive'), `${lines.join('\n')}\n`);
  globalThis.crashPoint?.('archive', table, 'after');
}
