import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Of this package. */
export function ownVersion(): string {
  const file = join(__dirname, '..', 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
