import { parser } from '@prometheus-io/lezer-promql';

/** A metric as an expression selects it, with the labels that it must equal. */
export interface Selector {
  readonly name: string;
  readonly equal: Readonly<Record<string, string>>;
}

/** Of a `=~`, the values that it names; none where it is more than names. */
const ALTERNATIVES = /^[\w ]+(\|[\w ]+)*$/;

/** What an expression selects: one for each value that a `=~` names. @throws Error when it is no PromQL */
export function selectorsOf(expression: string): Selector[] {
  const selectors: { name: string; equal: Record<string, string[]> }[] = [];
  const text = ({ from, to }: { from: number; to: number }) => expression.slice(from, to);
  let label = '';
  let operator = '';
  parser.parse(expression).iterate({
    enter: ({ node, type }) => {
      if (type.isError) throw new Error(`no PromQL at ${node.from}: ${expression}`);
      const selector = selectors.at(-1);
      const inMatcher = node.parent?.name === 'UnquotedLabelMatcher';
      if (type.name === 'Identifier') selectors.push({ name: text(node), equal: {} });
      else if (inMatcher && type.name === 'LabelName') label = text(node);
      else if (inMatcher && type.name === 'MatchOp') operator = text(node);
      else if (inMatcher && type.name === 'StringLiteral' && selector) {
        const value = text(node).slice(1, -1);
        if (operator === '=') selector.equal[label] = [value];
        else if (operator === '=~' && ALTERNATIVES.test(value)) selector.equal[label] = value.split('|');
      }
    },
  });
  return selectors.flatMap(({ name, equal }) => combinations(equal).map((each) => ({ name, equal: each })));
}

/** Labels by which an expression groups. */
export function groupingOf(expression: string): string[] {
  const labels: string[] = [];
  parser.parse(expression).iterate({
    enter: ({ node, type, from, to }) => {
      if (type.name === 'LabelName' && node.parent?.name === 'GroupingLabels') labels.push(expression.slice(from, to));
    },
  });
  return labels;
}

function combinations(values: Readonly<Record<string, readonly string[]>>): Record<string, string>[] {
  return Object.entries(values).reduce<Record<string, string>[]>(
    (found, [label, each]) => found.flatMap((one) => each.map((value) => ({ ...one, [label]: value }))),
    [{}],
  );
}
