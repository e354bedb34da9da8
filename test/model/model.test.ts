import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, prepareSpin } from '../../model/spin';
import { GAPS, HOLDING, LONG, MUTANTS, type Variant } from '../../model/variants';
import { ROOT } from '../support/markdown';

const models = readdirSync(join(ROOT, 'model')).filter((name) => name.endsWith('.pml'));
const sources = models.map((name) => readFileSync(join(ROOT, 'model', name), 'utf8'));
const missing = prepareSpin();
// Said beside the report too, which names skipped tests only on request.
if (missing) console.warn(`The model is not checked: ${missing}`);

const withSpin = missing ? describe.skip : describe;
const inCI = !['', '0', 'false'].includes(process.env.CI ?? '');
const document = readFileSync(join(ROOT, 'docs/reliability.md'), 'utf8');

// Elsewhere who has no spin can still run all other tests; a CI that is green without it would have checked no model.
(inCI ? test : test.skip)('what checks the models is there, where CI is set', () => {
  if (missing) throw new Error(`The models are not checked: ${missing}. Or unset CI, and they are skipped.`);
});

withSpin(`the model${missing ? ` (skipped: ${missing})` : ''}`, () => {
  test.each(HOLDING)('of the $model finds no broken property: $name', holds);

  (process.env.OUTBOX_TEST_LONG === 'on' ? test : test.skip).each(LONG)(
    'of the $model finds no broken property, in the long tests: $name',
    holds,
    600_000,
  );

  test.each([...MUTANTS, ...GAPS])('of the $model finds what breaks with: $name', async (variant) => {
    const { violation } = await check({ shortest: true, ...variant });
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
    [...HOLDING, ...LONG, ...MUTANTS, ...GAPS].flatMap(({ defines }) => defines.map((define) => define.split('=')[0])),
  );
  const switches = sources.flatMap((source) => [
    ...[...source.matchAll(/^#(?:ifdef|ifndef) (\w+)/gm)].map(([, name]) => name),
    ...[...source.matchAll(/defined\((\w+)\)/g)].map(([, name]) => name),
  ]);
  expect(switches.filter((name) => !built.has(name))).toEqual([]);
});

test('the document names each variant, mutant and gap of the models, and no other', () => {
  const table = (heading: string) =>
    [...section(heading).matchAll(/^\| (.+?) \|/gm)]
      .map(([, cell = '']) => cell.replace(/ \(\[\d+\]\([^)]*\)\)|`/g, ''))
      .filter((cell) => !/^-+$/.test(cell))
      .slice(1);
  const named = (variants: readonly Variant[]) => variants.map(({ name }) => name).sort();
  expect(table('Variants').sort()).toEqual(named([...HOLDING, ...LONG]));
  expect(table('Mutants').sort()).toEqual(named(MUTANTS));
  expect(table('Gaps').sort()).toEqual(named(GAPS));
});

async function holds(variant: Variant): Promise<void> {
  const { violation, states } = await check(variant);
  expect(violation).toBeUndefined();
  // Fewer would mean that something never begins, and then nothing can go wrong either.
  expect(states).toBeGreaterThan(10_000);
  // As documented; another version of spin may count a little otherwise.
  expect(states / documentedStates(variant)).toBeCloseTo(1, 1);
}

function documentedStates({ name }: Variant): number {
  const row = section('Variants')
    .split('\n')
    .find((line) => line.startsWith(`| ${name} |`));
  return Number(row?.split(' | ')[2]?.replaceAll(',', ''));
}

function section(heading: string): string {
  const [, after = ''] = document.split(`\n### ${heading}\n`);
  return after.split(/\n##/)[0] ?? '';
}

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
