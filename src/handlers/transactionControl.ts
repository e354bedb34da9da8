/** What only looks like statements: texts, quoted names, bodies of functions, comments. */
const OPAQUE = /\bE'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[^]*?\$\1\$|--[^\n]*|\/\*[^]*?\*\//gi;

const CONTROL =
  /^\s*(begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+((work|transaction)\s+)?to\b))\b/i;

/**
 * Whether one of the statements in a text ends a transaction, or begins one. They are found before they are sent: what
 * they committed could not be taken back, and of `COMMIT; BEGIN` the connection shows nothing afterwards.
 */
export function controlsTransaction(text: string): boolean {
  return text
    .replace(OPAQUE, ' ')
    .split(';')
    .some((statement) => CONTROL.test(statement));
}
