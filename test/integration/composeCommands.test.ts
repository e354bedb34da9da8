import { dockerCompose, runTool } from '../support/deployTools';
import { allBlocks, inlineCommands } from '../support/markdown';
import { commandsOf } from '../support/shell';

/** Values that stand behind a flag as a word of their own, and not behind `=`. */
const WITH_VALUE = ['--profile', '--scale', '--file', '--env-file', '--tail'];

const documented = [
  ...allBlocks('sh').map(({ page, text }) => ({ page, text })),
  ...inlineCommands('docker compose'),
].flatMap(({ page, text }) =>
  commandsOf(text)
    .filter(({ words }) => words[0] === 'docker' && words[1] === 'compose')
    .map(({ words }) => ({ page, words: words.slice(2) })),
);

/** The verb and the flags before and behind it; what is run inside a service is not compose's. */
function partsOf(words: readonly string[]): { verb: string; before: string[]; behind: string[] } {
  const isWord = (word: string, at: number) => !word.startsWith('-') && !WITH_VALUE.includes(words[at - 1] ?? '');
  const at = words.findIndex(isWord);
  const verb = words[at] ?? '';
  const service = words.findIndex((word, index) => index > at && isWord(word, index));
  const end = ['exec', 'run'].includes(verb) && service !== -1 ? service : words.length;
  const flags = (part: readonly string[]) => part.filter((word) => word.startsWith('-'));
  return { verb, before: flags(words.slice(0, at)), behind: flags(words.slice(at + 1, end)) };
}

/** Flags as `--help` lists them, short and long. */
async function flagsOf(verb: string | undefined): Promise<string[]> {
  const { code, stdout } = await runTool(dockerCompose, [...(verb === undefined ? [] : [verb]), '--help']);
  // A verb that it does not know gets the help of the whole.
  if (code !== 0 || (verb !== undefined && !stdout.includes(` ${verb} `))) return [];
  return [...stdout.matchAll(/^\s+(?:(-\w), )?(--[a-z-]+)/gm)].flatMap(([, short, long]) =>
    [short ?? [], long!].flat(),
  );
}

async function wrongWith(words: readonly string[]): Promise<string | undefined> {
  const { verb, before, behind } = partsOf(words);
  const known = await flagsOf(verb);
  if (known.length === 0) return `docker compose knows no ${verb}`;
  const general = before.length === 0 ? [] : await flagsOf(undefined);
  const unknown = [
    ...before.filter((flag) => !general.includes(name(flag))),
    ...behind.filter((flag) => !known.includes(name(flag))),
  ];
  return unknown.length === 0 ? undefined : `docker compose ${verb} knows no ${unknown.join(', ')}`;
}

const name = (flag: string) => flag.replace(/=[^]*/, '');

test('each documented command of Docker Compose has a verb and flags that Docker Compose knows', async () => {
  expect(documented.length).toBeGreaterThan(8);
  const wrong = [];
  for (const { page, words } of documented) {
    const problem = await wrongWith(words);
    if (problem !== undefined) wrong.push(`${page}: ${problem}`);
  }
  expect(wrong).toEqual([]);
});

test.each([
  ['up --detahc --wait', 'knows no --detahc'],
  ['--profil=monitoring up', 'knows no --profil'],
  ['upp --wait', 'knows no upp'],
])('%j would be found', async (text, problem) => {
  expect(await wrongWith(text.split(' '))).toContain(problem);
});
