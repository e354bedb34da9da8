import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/markdown';

const files = ['src', 'test', 'bench', 'examples'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules') && !name.endsWith('pools.test.ts'))
    .map((name) => join(folder, name)),
);
const count = (text: string, part: RegExp) => [...text.matchAll(part)].length;

/** Without one, a server that goes away ends the process: at any time, and also while the pool is being closed. */
test('every pool of connections listens for the end of an idle one (C38)', () => {
  const opening = files
    .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }))
    .filter(({ text }) => /new Pool\(/.test(text));
  expect(opening.length).toBeGreaterThan(8);
  const deaf = opening.filter(({ text }) => count(text, /\.on\('error'/g) < count(text, /new Pool\(/g));
  expect(deaf.map(({ file }) => file)).toEqual([]);
});
