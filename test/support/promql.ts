import { parser } from '@prometheus-io/lezer-promql';

/** A metric as an expression selects it, with the labels that it must equal. */
export interface Selector {
  readonly name: string;
  readonly equal: Readonly<Record<string, string>>;
}

/** What an expression selects. @throws Error when it is no PromQL */
export function selectorsOf(expression: string): Selector[] {
  const selectors: { name: string; equal: Record<string, string> }[] = [];
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
      else if (inMatcher && type.name === 'StringLiteral' && operator === '=' && selector)
        selector.equal[label] = text(node).slice(1, -1);
    },
  });
  return selectors;
}
