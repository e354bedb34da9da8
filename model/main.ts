import { check, prepareSpin } from './spin';
import { GAPS, HOLDING, LONG, MUTANTS, type Variant } from './variants';

/** `npm run model`: checks every variant and prints a table; `-- <words>` only those whose name has the words, with traces. */
async function main(words: string): Promise<void> {
  const problem = prepareSpin();
  if (problem) throw new Error(problem);
  const wanted = [...HOLDING, ...LONG, ...MUTANTS, ...GAPS].filter(({ name }) => name.includes(words));
  if (wanted.length === 0) throw new Error(`there is no variant with "${words}" in its name`);
  const rows = [['model', 'variant', 'states', 'depth', 'seconds', 'verdict']];
  let wrong = 0;
  for (const variant of wanted) {
    const { states, depth, seconds, violation } = await checkOne(variant);
    const isAsExpected = violation?.property === variant.breaks;
    if (!isAsExpected) wrong++;
    const verdict = violation ? `broken: ${violation.property}` : 'holds';
    const said = isAsExpected ? verdict : `${verdict} (expected: ${variant.breaks ?? 'holds'})`;
    rows.push([variant.model, variant.name, states.toLocaleString('en'), `${depth}`, seconds.toFixed(1), said]);
    if (violation && (words !== '' || !isAsExpected))
      console.log(`${variant.name}:\n  ${violation.trace.join('\n  ')}\n  broken: ${violation.property}\n`);
  }
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  if (wrong > 0) throw new Error(`${wrong} of ${wanted.length} verdicts are not as expected`);
}

/** A mutant's counter-example is to be read, so it should be short. */
function checkOne(variant: Variant) {
  return check({ shortest: variant.breaks !== undefined, ...variant });
}

main(process.argv.slice(2).join(' ')).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
