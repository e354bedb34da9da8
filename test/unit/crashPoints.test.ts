import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { POINTS } from '../crash/points/catalog';
import { ELSEWHERE } from '../crash/points/elsewhere';
import { PATHS } from '../crash/points/point';
import { ROOT } from '../support/markdown';
import { EXAMPLE, Scanner, type Scan } from '../support/sourceEffects';

/** All types of the sources are read, once; on a busy machine that takes minutes. */
const READING_MS = 600_000;

/** A file as somebody could add it tomorrow. */
const NEW_EFFECTS = `
  import type { WorkflowClient } from '@temporalio/client';
  import type { JetStreamManager } from '@nats-io/jetstream';
  import type { Database } from './postgres/database';
  const NAMED = \`
    /* outbox: tidy up */
    DELETE FROM :schema.deliveries WHERE state = 'skipped'\`;
  export async function tidyUp(db: Database, anyName: JetStreamManager) {
    const { streams } = anyName;
    await streams.purge('EVENTS');
    await db.query(NAMED);
    await db.query('UPDATE :schema.relay_fence SET epoch = 0');
    await db.pool.query(['TRUNCATE', 'effects'].join(' '));
    await streams.info('EVENTS');
  }
  export const end = (client: WorkflowClient) => client.getHandle('outbox-relay').terminate('no reason');`;

const patterns = (source: string) => source.replaceAll(/\$\{[\w.]+\}/g, '*');
const covered = [...POINTS, ...ELSEWHERE].flatMap(({ source }) => source);
/** A name that is made at run time stands for all that begin alike. */
const isCovered = (key: string) => {
  const [begin = ''] = patterns(key).split('*');
  return covered.some((source) => (begin === key ? source === key : source.startsWith(begin)));
};

let sources: Scan;
let example: Scan;
beforeAll(() => {
  const scanner = new Scanner(NEW_EFFECTS);
  example = scanner.scan((path) => path === EXAMPLE);
  sources = scanner.scan((path) => path !== EXAMPLE);
}, READING_MS);

test('every statement begins with its name, and no two that write have the same', () => {
  expect(sources.unnamed).toEqual([]);
  expect(sources.statements.length).toBeGreaterThan(100);
  const names = sources.effects.map(({ key }) => key);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

test('every effect in `src/` has a point, or a reason why it needs none', () => {
  expect(sources.effects.length).toBeGreaterThan(80);
  expect(sources.effects.filter(({ key }) => !isCovered(key))).toEqual([]);
});

test('what the catalog names is in `src/`', () => {
  const keys = sources.effects.map(({ key }) => patterns(key));
  const isThere = (source: string) => keys.some((key) => key === source || (key.endsWith('*') && source.startsWith(key.slice(0, -1)))); // prettier-ignore
  expect(covered.filter((source) => !isThere(source))).toEqual([]);
});

test('each point has one name, and each path has some', () => {
  const names = POINTS.map(({ name }) => name);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  expect(PATHS.filter((path) => !POINTS.some((point) => point.path === path))).toEqual([]);
  expect(ELSEWHERE.filter(({ why }) => why.length < 20)).toEqual([]);
});

test('the page has the numbers of the catalog', () => {
  const page = readFileSync(join(ROOT, 'docs/reliability.md'), 'utf8');
  const rows = PATHS.map((path) => {
    const points = POINTS.filter((point) => point.path === path);
    return `| ${path} | ${points.length} | ${points.filter(({ backends }) => backends.length === 2).length} |`;
  });
  expect(rows.filter((row) => !page.includes(row))).toEqual([]);
});

test('a new effect is found: a statement with a name or without, a call of a client whatever holds it', () => {
  const found = example.effects.filter(({ key }) => !isCovered(key)).map(({ key }) => key);
  expect(found).toEqual([
    'sql tidy up',
    'example.ts tidyUp purge',
    'sql without a name',
    'example.ts tidyUp query',
    'sql without a name',
    'example.ts  terminate',
  ]);
  expect(example.unnamed.map((text) => text.replace(/.*?: /, ''))).toEqual([
    'UPDATE :schema.relay_fence SET epoch = 0',
    'TRUNCATE',
  ]);
});
