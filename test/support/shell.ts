/** One simple command of a shell text: the variables before it, and its words. */
export interface ShellCommand {
  readonly variables: Readonly<Record<string, string>>;
  readonly words: readonly string[];
}

/**
 * The commands of a shell text as documents have it: words with quotes, `#` comments, lines that go on behind `\`, and
 * what stands between `|`, `&&`, `||`, `;` and `&`. Redirections are left out. No loops, no substitutions.
 */
export function commandsOf(text: string): ShellCommand[] {
  const commands: ShellCommand[] = [];
  let words: string[] = [];
  const end = () => {
    if (words.length > 0) commands.push(commandFrom(words));
    words = [];
  };
  const TOKEN =
    /\s*(?:(\\\n)|(#.*)|(\|\||&&|[|;&\n])|(\d?>{1,2}&?\s*\S*)|((?:'[^']*'|"(?:\\.|[^"])*"|\\.|[^\s'"|;&#<>]|(?<=\S)#|<[^\s<>|]*>)+))/y;
  const source = text.replace(/[ \t]+$/gm, '');
  let at = 0;
  while (at < source.length) {
    // A new line ends a command; other white space only separates.
    const blank = /[ \t]*/y;
    blank.lastIndex = at;
    at += blank.exec(source)?.[0].length ?? 0;
    if (at >= source.length) break;
    if (source[at] === '\n') {
      end();
      at += 1;
      continue;
    }
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(source);
    if (!found) throw new Error(`cannot be read as a shell command: ${source.slice(at).split('\n')[0]}`);
    const [, , , separator, , word] = found;
    if (separator) end();
    if (word) words.push(unquoted(word));
    at = TOKEN.lastIndex;
  }
  end();
  return commands;
}

function commandFrom(words: readonly string[]): ShellCommand {
  const variables: Record<string, string> = {};
  const rest = [...words];
  if (rest[0] === 'export') rest.shift();
  while (/^[A-Z][A-Z0-9_]*=/.test(rest[0] ?? '')) {
    const [name = '', ...value] = (rest.shift() ?? '').split('=');
    variables[name] = value.join('=');
  }
  return { variables, words: rest };
}

function unquoted(word: string): string {
  return word.replace(/'([^']*)'|"((?:\\.|[^"])*)"|\\(.)/g, (_, single?: string, double?: string, escaped?: string) =>
    single ?? double?.replace(/\\(.)/g, '$1') ?? escaped ?? '',
  ); // prettier-ignore
}
