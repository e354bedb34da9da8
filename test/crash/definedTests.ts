import { format } from 'node:util';

type Define = (...given: unknown[]) => void;

/**
 * The titles of the tests that a file defines, with those of the blocks around them. The file is loaded, and none of its
 * tests is run: what counts is what jest would be told, and not what is in some list.
 */
export function definedTests(file: string): string[] {
  const titles: string[] = [];
  const blocks: string[] = [];
  const block: Define = (title, body) => {
    blocks.push(String(title));
    (body as () => void)();
    blocks.pop();
  };
  const test: Define = (title) => titles.push([...blocks, String(title)].join(' '));
  const stubs = {
    ...{ describe: withEach(block), it: withEach(test), test: withEach(test) },
    ...{
      beforeAll: () => undefined,
      beforeEach: () => undefined,
      afterAll: () => undefined,
      afterEach: () => undefined,
    },
  };
  const own = Object.fromEntries(Object.keys(stubs).map((name) => [name, Reflect.get(globalThis, name) as unknown]));
  Object.assign(globalThis, stubs);
  try {
    jest.isolateModules(() => {
      jest.requireActual(file);
    });
  } finally {
    Object.assign(globalThis, own);
  }
  return titles;
}

/** As jest does it: one for each row of a table, whose values are put in the title and given to the body. */
function withEach(define: Define): Define & { each: (table: readonly unknown[]) => Define } {
  const each = (table: readonly unknown[]) => (title: unknown, body: unknown) => {
    for (const row of table) {
      const values: unknown[] = Array.isArray(row) ? row : [row];
      const places = String(title).split('%s').length - 1;
      const run = () => (body as (...values: unknown[]) => unknown)(...values);
      define(format(title, ...values.slice(0, places)), run);
    }
  };
  return Object.assign(define, { each });
}
