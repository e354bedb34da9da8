/** What only looks like statements: texts, quoted names, bodies of functions, comments to the end of a line. */
const OPAQUE =
  /[eE]'(?:[^'\\]|\\[^]|'')*'|'[^']*'|"[^"]*"|\$((?:[A-Za-z_\x80-\uffff][\w\x80-\uffff]*)?)\$[^]*?\$\1\$|--[^\r\n]*/y;
/** A stretch of anything else. A word is taken whole: an E or a $ at its end opens no text. */
const PLAIN = /[\w$\x80-\uffff]+|[^\w$\x80-\uffff'"/-]+|[^]/y;
const COMMENT_MARK = /\/\*|\*\//g;

const CONTROL =
  /^\s*(begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+((work|transaction)\s+)?to\b))\b/i;
const OPENS_BODY = /^\s*create\s+(or\s+replace\s+)?(function|procedure)\b[^]*\bbegin\s+atomic\b(?!\s+end\b)/i;
const CLOSES_BODY = /^\s*end\b/i;

/**
 * Whether one of the statements in a text ends a transaction, or begins one. They are found before they are sent: what
 * they committed could not be taken back, and of `COMMIT; BEGIN` the connection shows nothing afterwards.
 */
export function controlsTransaction(text: string): boolean {
  // What a function that is written without quotes does, it does when it is called, and none may end a transaction.
  let inBody = false;
  for (const statement of plainOf(text).split(';')) {
    if (inBody) inBody = !CLOSES_BODY.test(statement);
    else if (CONTROL.test(statement)) return true;
    else inBody = OPENS_BODY.test(statement);
  }
  return false;
}

/** The text with a blank for each thing in it that only looks like statements. */
function plainOf(text: string): string {
  let plain = '';
  for (let at = 0; at < text.length;) {
    const opaqueEnd = text.startsWith('/*', at) ? endOfComment(text, at) : endOf(OPAQUE, text, at);
    const end = opaqueEnd ?? endOf(PLAIN, text, at) ?? text.length;
    plain += opaqueEnd === undefined ? text.slice(at, end) : ' ';
    at = end;
  }
  return plain;
}

function endOf(token: RegExp, text: string, at: number): number | undefined {
  token.lastIndex = at;
  return token.test(text) ? token.lastIndex : undefined;
}

/** PostgreSQL's comments can be nested, unlike those of other languages. */
function endOfComment(text: string, at: number): number {
  COMMENT_MARK.lastIndex = at;
  let depth = 0;
  for (let mark = COMMENT_MARK.exec(text); mark !== null; mark = COMMENT_MARK.exec(text)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return COMMENT_MARK.lastIndex;
  }
  return text.length;
}
