import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, prepareSpin } from '../../model/spin';
import { GAPS, HOLDING, MUTANTS } from '../../model/variants';
import { ROOT } from '../support/markdown';

const models = readdirSync(join(ROOT, 'model')).filter((name) => name.endsWith('.pml'));
const sources = models.map((name) => readFileSync(join(ROOT, 'model', name), 'utf8'));
const missing = prepareSpin();
// Said beside the report too, which names skipped tests only on request.
if (missing) console.warn(`The model is not checked: ${missing}`);

const withSpin = missing ? describe.skip : describe;

withSpin(`the model${missing ? ` (skipped: ${missing})` : ''}`, () => {
  test.each(HOLDING)('of the $model finds no broken property: $name', async (variant) => {
    const { violation, states } = await check(variant);
    expect(violation).toBeUndefined();
    // Fewer would mean that something never begins, and then nothing can go wrong either.
    expect(states).toBeGreaterThan(10_000);
  });

  test.each([...MUTANTS, ...GAPS])('of the $model finds what breaks with: $name', async (variant) => {
    const { violation } = await check({ ...variant, shortest: true });
    expect(violation).toEqual({ property: variant.breaks, trace: expect.any(Array) });
    expect(violation?.trace).not.toEqual([]);
  });
});

test('each step of a model names a function that is there', () => {
  const named = sources.flatMap((source) => [...source.matchAll(/\[(src\/[\w/]+\.ts): (\w+)\]/g)]);
  expect(named.length).toBeGreaterThan(15);
  const absent = named.filter(([, file, name]) => !definedIn(file!).has(name!)).map(([link]) => link);
  expect(absent).toEqual([]);
});

test('each property of a model is broken by a mutant', () => {
  const properties = sources.flatMap((source) =>
    [...source.matchAll(/property: (.+?) *\*\//g)].map(([, name]) => name),
  );
  expect([...new Set(MUTANTS.map(({ breaks }) => breaks))].sort()).toEqual([...new Set(properties)].sort());
});

test('each mutant of a model is checked', () => {
  const built = new Set(
    [...HOLDING, ...MUTANTS, ...GAPS].flatMap(({ defines }) => defines.map((define) => define.split('=')[0])),
  );
  const switches = sources.flatMap((source) => [
    ...[...source.matchAll(/^#(?:ifdef|ifndef) (\w+)/gm)].map(([, name]) => name),
    ...[...source.matchAll(/defined\((\w+)\)/g)].map(([, name]) => name),
  ]);
  expect(switches.filter((name) => !built.has(name))).toEqual([]);
});

/** Names of functions, methods and classes of a file. */
function definedIn(file: string): Set<string> {
  const path = join(ROOT, file);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const functions = [...text.matchAll(/\b(?:function|class) (\w+)/g)];
  const methods = [
    ...text.matchAll(/^ +(?:(?:private|protected|override|async|abstract|static) )*(\w+)(?:<[^(]*>)?\(.*[{;,(]$/gm),
  ];
  return new Set([...functions, ...methods].map(([, name]) => name!));
}
