/**
 * What a JSON text will need once PostgreSQL has stored it as `jsonb` and prints it again: a space after each comma and
 * colon, and small numbers written out, `1e-7` as `0.0000001`. That is what is published, so that is what must fit.
 *
 * @param text as `JSON.stringify` makes it: without white space
 * @returns bytes of UTF-8 (a few more than needed for each number written out), and the levels of nesting
 */
export function measureJson(text: string): { bytes: number; depth: number } {
  let extra = 0;
  let level = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charAt(at)) {
      case '"':
        for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++;
        break;
      case ',':
      case ':':
        extra++;
        break;
      case '[':
      case '{':
        depth = Math.max(depth, ++level);
        break;
      case ']':
      case '}':
        level--;
        break;
      case 'e':
      case 'E':
        // Of a number, or the end of `true` and `false`.
        extra += Math.abs(Number.parseInt(text.slice(at + 1), 10) || 0);
        break;
      default:
    }
  }
  return { bytes: Buffer.byteLength(text) + extra, depth };
}
