import Table from 'cli-table3';
import { agrees, type Comparison } from './reconcile/compare';

const SHOWN = 5;

/** One row for each comparison, then the ids of what does not agree. */
export function tableOf(comparisons: readonly Comparison[]): string {
  const table = new Table({
    head: ['compared by id', 'agree', 'missing', 'unexpected', 'different'],
    colAligns: ['left', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  });
  const count = (value: number) => value.toLocaleString('en-US');
  for (const { name, agree, missing, unexpected, different } of comparisons)
    table.push([name, count(agree), count(missing.length), count(unexpected.length), count(different.length)]);
  return [table.toString(), ...comparisons.filter((each) => !agrees(each)).map(detail)].join('\n');
}

function detail({ name, missing, unexpected, different }: Comparison): string {
  const some = (what: string, all: readonly string[]) =>
    all.slice(0, SHOWN).map((id) => `  ${what} ${id}${all.length > SHOWN ? ` (and ${all.length - SHOWN} more)` : ''}`);
  return [name, ...some('missing', missing), ...some('unexpected', unexpected), ...some('different', different)].join(
    '\n',
  );
}
