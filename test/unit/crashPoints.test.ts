import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { definedTests } from '../crash/definedTests';
import { POINTS } from '../crash/points/catalog';
import { ELSEWHERE } from '../crash/points/elsewhere';
import { PATHS, type Backend, type Point } from '../crash/points/point';
import { SIDES } from '../crash/visit';
import { ROOT } from '../support/markdown';
import type { Scan } from '../support/foundEffects';
import { EXAMPLE, Scanner } from '../support/sourceEffects';

/** All types of the sources are read, once; on a busy machine that takes minutes. */
const READING_MS = 600_000;

/** A file as somebody could add it tomorrow, with each way to an effect that has to be found. */
const NEW_EFFECTS = `
  import type { Consumer, JetStreamClient, JetStreamManager, JsMsg } from '@nats-io/jetstream';
  import { createUser } from '@nats-io/nkeys';
  import type { Client, WorkflowClient } from '@temporalio/client';
  import type { Pool } from 'pg';
  import type { Database, Queryable } from './postgres/database';
  const NAMED = \`
    /* outbox: tidy up */
    DELETE FROM :schema.deliveries WHERE state = 'skipped'\`;
  const JOINED = ['TRUNCATE', 'effects'].join(' ');
  export async function tidyUp(db: Database, anyName: JetStreamManager) {
    const { streams } = anyName;
    await streams.purge('EVENTS');
    await db.query(NAMED);
    await db.query('UPDATE :schema.relay_fence SET epoch = 0');
    await db.pool.query(['TRUNCATE', 'effects'].join(' '));
    await streams.info('EVENTS');
  }
  export const end = (client: WorkflowClient) => client.getHandle('outbox-relay').terminate('no reason');
  export async function consume(client: JetStreamClient, message: JsMsg) {
    const consumer = await client.consumers.get('EVENTS', { headers_only: true });
    await consumer.info();
    await consumer.next();
    await consumer.consume();
    message.next('events');
    await consumer.delete();
  }
  export async function byAnotherName({ streams }: JetStreamManager, one: { delete(): Promise<boolean> } | Consumer) {
    const { purge: clear } = streams;
    await clear('EVENTS');
    await streams['delete']('EVENTS');
    await Promise.all(['EVENTS'].map(streams.deleteMessage));
    await one.delete();
    for (const method of ['purge', 'delete'] as const) await streams[method]('EVENTS');
  }
  export async function whateverIsSent(db: Database, tx: Queryable, verb: string) {
    await db.query(JOINED);
    await tx.query(verb);
    await tx.query(\`\${verb} effects\`);
    await tx.query('delete from effects');
    await db.pool.query('RESET ALL');
    await db.query("/* outbox: count on */ SELECT setval('ids', 1)");
    await db.query('/* outbox: end others */ SELECT pg_terminate_backend(pid) FROM pg_stat_activity');
    await db.query('/* outbox: copy */ SELECT * INTO copies FROM effects');
    await db.query('/* outbox: read in */ COPY effects FROM STDIN');
    await db.query('/* outbox: look */ SELECT * FROM effects');
  }
  export const make = () => createUser();
`;

const EFFECTS_OF_IT = [
  ...['sql tidy up', 'sql without a name', 'tidyUp purge', 'sql without a name', 'tidyUp query', 'sql without a name'],
  ' terminate',
  ...['consume get', 'consume next', 'consume consume', 'consume next 2', 'consume delete'],
  ...[
    'byAnotherName purge',
    'byAnotherName delete',
    'byAnotherName deleteMessage',
    'byAnotherName delete 2',
    'byAnotherName any',
  ],
  ...['', ' 2', ' 3', ' 4', ' 5'].map((number) => `whateverIsSent query${number}`),
  ...['sql count on', 'sql end others', 'sql copy', 'sql read in', ' createUser'],
].map((key) => (key.startsWith('sql ') ? key : `example.ts ${key}`));

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

test('a new effect is found: a statement with a name or without, and whatever a client offers, by whatever name it is reached', () => {
  expect(example.effects.map(({ key }) => key)).toEqual(EFFECTS_OF_IT);
  expect(example.effects.filter(({ key }) => isCovered(key))).toEqual([]);
  expect(example.unnamed.map((text) => text.replace(/.*?: /, ''))).toEqual([
    'TRUNCATE',
    'UPDATE :schema.relay_fence SET epoch = 0',
    'TRUNCATE',
  ]);
});

describe('the files that visit points', () => {
  const DIRECTORY = join(ROOT, 'test/crash');
  /** Where a handler or a message is, and nothing is done: there is no other side of it. */
  const PLACES = ['handler begin', 'handler middle', 'handler end', 'nats message'];

  test('have a test for each point of each path, in each of its backends, on both of its sides', () => {
    const files = readdirSync(DIRECTORY).filter((file) => file.endsWith('Points.test.ts'));
    const titles = files.flatMap((file) => definedTests(join(DIRECTORY, file)));
    expect(titles.length).toBeGreaterThan(2 * POINTS.length);
    const isVisited = ({ name }: Point, side: string, backend?: Backend) =>
      titles.some((title) => {
        const [before, after] = title.split(`killed ${side} ${name}`);
        return after !== undefined && /^($|[,:])/.test(after) && (!backend || before?.includes(`backend ${backend}`));
      });
    const unvisited = POINTS.flatMap((point) =>
      (point.backends.length === 0 ? [undefined] : point.backends).flatMap((backend) =>
        SIDES.filter((side) => side === 'before' || !PLACES.includes(point.name))
          .filter((side) => !isVisited(point, side, backend))
          .map((side) => `${side} ${point.name} (${point.path}, ${backend ?? 'no backend'})`),
      ),
    );
    expect(unvisited).toEqual([]);
  });
});
