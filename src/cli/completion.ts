import type { Command, Option } from 'commander';

/*
 * Scripts that know all verbs and options by themselves. A script that asked the command at each press of a key, as the
 * libraries for it do, would start Node each time.
 */

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** What may stand behind a verb, or be the value of an option. */
interface Words {
  readonly words: readonly string[];
  /** Names of files, too. */
  readonly files: boolean;
}

interface Verb extends Words {
  /** `outbox dead list` */
  readonly path: string;
  readonly options: readonly CompletedOption[];
  readonly verbs: readonly { readonly name: string; readonly summary: string }[];
}

interface CompletedOption {
  readonly flags: readonly string[];
  readonly description: string;
  /** Undefined for one that takes no value. */
  readonly value: Words | undefined;
}

export function completionScript(program: Command, shell: Shell): string {
  const verbs = verbsOf(program);
  return { bash, zsh, fish }[shell](program.name(), verbs);
}

function verbsOf(command: Command, path = command.name(), siblings: readonly string[] = []): Verb[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command);
  const given = command.registeredArguments.map((each) => wordsOf(each.argChoices, each.name()));
  const names = below.map((each) => each.name());
  return [
    {
      path,
      // `help` takes a verb.
      words: given.flatMap(({ words }) => words).concat(command.name() === 'help' ? siblings : []),
      files: given.some(({ files }) => files),
      options: help.visibleOptions(command).map(optionOf),
      verbs: below.map((each) => ({ name: each.name(), summary: each.summary() || each.description() })),
    },
    ...below.flatMap((each) => verbsOf(each, `${path} ${each.name()}`, names)),
  ];
}

function optionOf(option: Option): CompletedOption {
  const { short, long, flags, description } = option;
  const takes = /[<[](.+)[>\]]/.exec(flags)?.[1];
  return {
    flags: [long, short].filter((flag) => flag !== undefined),
    description,
    value: takes === undefined ? undefined : wordsOf(option.argChoices, takes),
  };
}

function wordsOf(choices: readonly string[] | undefined, placeholder: string): Words {
  return { words: choices ?? [], files: /^(file|path|module|directory)$/.test(placeholder) };
}

/** Runs in the bash 3.2 of macOS too: no associative arrays, no `compopt`. */
function bash(name: string, verbs: readonly Verb[]): string {
  const branch = (when: string, { words, files }: Words) =>
    `    "${when}") words="${words.join(' ')}" files=${files ? 'yes' : ''} ;;`;
  const values = verbs.flatMap(({ path, options }) =>
    options.flatMap(({ flags, value }) => (value ? flags.map((flag) => branch(`${path} ${flag}`, value)) : [])),
  );
  const others = verbs.map(({ path, words, files, options, verbs: below }) =>
    branch(path, { words: [...below.map((verb) => verb.name), ...words, ...options.flatMap(({ flags }) => flags)], files }),
  ); // prettier-ignore
  return `# Completion of ${name} in bash: made by \`${name} completion bash\`.
_${name}_complete() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} verb=${name} words files at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "$verb \${COMP_WORDS[at]}" in
      ${verbs.slice(1).map(({ path }) => `"${path}"`).join(' | ')}) verb="$verb \${COMP_WORDS[at]}" ;;
    esac
  done
  case "$verb $before" in
${values.join('\n')}
    *) case "$verb" in
${others.join('\n')}
    esac ;;
  esac
  COMPREPLY=()
  while IFS= read -r at; do COMPREPLY+=("$at"); done < <(compgen -W "$words" \${files:+-f} -- "$word")
}
complete -o filenames -F _${name}_complete ${name}
`; // prettier-ignore
}

function zsh(name: string, verbs: readonly Verb[]): string {
  const body = ({ path, words, files, options, verbs: below }: Verb) => {
    const rules = options.map(({ flags, description, value }) => {
      const ends = value === undefined ? '' : `:value:${filled(value)}`;
      return flags.map((flag) => quoted(`${flag}[${escaped(description)}]${ends}`)).join(' ');
    });
    const rest = below.length > 0 ? [] : [quoted(`*:argument:${filled({ words, files })}`)];
    const verbList = below.map((verb) => quoted(`${verb.name}:${verb.summary.replaceAll(':', '\\:')}`));
    return [
      `    ${quoted(path)})`,
      ...(below.length > 0 ? [`      local -a names=(${verbList.join(' ')})`, '      _describe verb names'] : []),
      `      _arguments -s ${[...rules, ...rest].join(' ')} ;;`,
    ].join('\n');
  };
  return `#compdef ${name}
# Completion of ${name} in zsh: made by \`${name} completion zsh\`.
_${name}_complete() {
  local verb=${name} at
  for ((at = 2; at < CURRENT; at++)); do
    case "$verb \${words[at]}" in
      (${verbs.slice(1).map(({ path }) => quoted(path)).join('|')}) verb="$verb \${words[at]}" ;;
    esac
  done
  case "$verb" in
${verbs.map(body).join('\n')}
  esac
}
compdef _${name}_complete ${name}
`; // prettier-ignore

  function filled({ words, files }: Words): string {
    if (words.length > 0) return `(${words.join(' ')})`;
    return files ? '_files' : ' ';
  }
  function escaped(text: string): string {
    return text.replaceAll(/[[\]:]/g, '\\$&');
  }
}

function fish(name: string, verbs: readonly Verb[]): string {
  const below = (path: string) => path.split(' ').slice(1);
  const lines = verbs.flatMap(({ path, words, files, options, verbs: further }) => {
    const when = `-n ${quoted(`__${name}_is ${below(path).join(' ')}`.trim())}`;
    return [
      ...further.map((verb) => `complete -c ${name} ${when} -a ${verb.name} -d ${quoted(verb.summary)}`),
      ...(words.length > 0 ? [`complete -c ${name} ${when} -a ${quoted(words.join(' '))}`] : []),
      ...(files ? [`complete -c ${name} ${when} -F`] : []),
      ...options.map(({ flags, description, value }) => {
        const named = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
        const takes = value && `-r ${value.files ? '-F' : `-f -a ${quoted(value.words.join(' '))}`}`;
        return [`complete -c ${name} ${when}`, ...named, takes, `-d ${quoted(description)}`].filter(Boolean).join(' ');
      }),
    ];
  });
  const known = verbs.slice(1).map(({ path }) => quoted(below(path).join(' ')));
  return `# Completion of ${name} in fish: made by \`${name} completion fish\`.
function __${name}_verb
    set -l verb
    for word in (commandline -opc)[2..-1]
        contains -- (string join ' ' -- $verb $word) ${known.join(' ')}; and set -a verb $word
    end
    string join ' ' -- $verb
end
function __${name}_is
    test "$(__${name}_verb)" = "$argv"
end
complete -c ${name} -f
${lines.join('\n')}
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
