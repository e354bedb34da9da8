import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocksOf, ROOT } from '../support/markdown';

const path = 'docs/architecture.md';
const text = readFileSync(join(ROOT, path), 'utf8');
const migrations = readdirSync(join(ROOT, 'migrations'))
  .filter((name) => name.endsWith('.sql'))
  .sort()
  .map((name) => readFileSync(join(ROOT, 'migrations', name), 'utf8'))
  .join('\n');

/** The last word of the migrations on a CHECK that lists states. */
function statesOf(constraint: string): string[] {
  const lists = [...migrations.matchAll(new RegExp(`CONSTRAINT ${constraint} CHECK \\(\\w+ IN \\(([^)]+)\\)\\)`, 'g'))];
  return [...(lists.at(-1)?.[1] ?? '').matchAll(/'(\w+)'/g)].map(([, state]) => state!).sort();
}

const diagrams = blocksOf({ path, text }).filter(({ text: code }) => code.startsWith('stateDiagram'));
const [rows, handlings] = diagrams.map(({ text: code }) => code);

test('the diagram of an outbox row has exactly the states that its CHECK allows', () => {
  const named = [...(rows ?? '').matchAll(/^ *(\S+) --> (\S+)/gm)].flatMap(([, from, to]) => [from!, to!]);
  const states = [...new Set(named)].filter((state) => state !== '[*]').sort();
  expect(states).toEqual(statesOf('event_queue_status'));
  expect(states).toHaveLength(6);
});

test('the diagram of a handling has exactly the states of ledger and delivery that their CHECKs allow', () => {
  const named = (table: string) => [
    ...new Set([...(handlings ?? '').matchAll(new RegExp(`\\b${table} (\\w+)`, 'g'))].map(([, state]) => state!)),
  ];
  const declared = [...(handlings ?? '').matchAll(/state "([^"]+)" as (\w+)/g)];
  expect(named('ledger').sort()).toEqual(statesOf('processed_events_status'));
  expect(declared.flatMap(([, states]) => [...states!.matchAll(/delivery (\w+)/g)].map(([, state]) => state)).filter((state, at, all) => all.indexOf(state) === at).sort()).toEqual(statesOf('deliveries_state')); // prettier-ignore
  const used = [...(handlings ?? '').matchAll(/^ *(\S+) --> (\S+)/gm)].flatMap(([, from, to]) => [from!, to!]);
  expect([...new Set(used)].filter((state) => state !== '[*]').sort()).toEqual(
    declared.map(([, , name]) => name!).sort(),
  );
});

test('each transition of a row stands in the table below the diagram', () => {
  const drawn = [...(rows ?? '').matchAll(/^ *(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} ${to}`);
  const listed = [...text.matchAll(/^\| (`.+?) → (`.+?) *\|/gm)].flatMap(([, from, to]) =>
    names(from!).flatMap((one) => names(to!).map((other) => `${one} ${other}`)),
  );
  expect([...new Set(drawn)].sort()).toEqual([...new Set(listed)].sort());
});

test('the functions that the tables of states name are in the files that they name', () => {
  const named = [...text.matchAll(/((?:`\w+`(?:, )?)+) in `([\w/]+(?:\.ts|\/))`/g)];
  expect(named.length).toBeGreaterThan(10);
  const absent = named.flatMap(([, functions, file]) =>
    names(functions!).filter((name) => !sourceOf(file!).includes(`function ${name}(`)).map((name) => `${name} in ${file}`),
  ); // prettier-ignore
  expect(absent).toEqual([]);
});

function names(cell: string): string[] {
  return [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
}

/** A file of `src/`, or all of a folder. */
function sourceOf(file: string): string {
  const at = join(ROOT, 'src', file);
  if (!existsSync(at)) return '';
  const files = file.endsWith('/') ? readdirSync(at).map((name) => join(at, name)) : [at];
  return files.map((name) => readFileSync(name, 'utf8')).join('\n');
}
