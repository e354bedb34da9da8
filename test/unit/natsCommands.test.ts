import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inlineCommands, ROOT } from '../support/markdown';
import { NATS_COMMANDS, wrongWithNats } from '../support/natsCommand';
import { commandsOf } from '../support/shell';

/** Files whose messages tell an operator to run `nats`. */
const SOURCES = ['src/broker', 'src/consumer', 'src/doctor']
  .flatMap((folder) => readdirSync(join(ROOT, folder)).map((file) => `${folder}/${file}`))
  .map((file) => ({ page: file, text: readFileSync(join(ROOT, file), 'utf8') }));

/** As they stand in a message: what is filled in when the program runs is a word. */
const inMessages = SOURCES.flatMap(({ page, text }) =>
  [...text.matchAll(/\bnats (?:stream|consumer) (?:\$\{[^}]*\}|[^`"\n])*/g)].map(([found]) => ({
    page,
    // Flags that are put together elsewhere are looked at below.
    text: found
      .replace(/\$\{flags[^}]*\}/g, '')
      .replace(/\$\{[^}]*\}+/g, '<word>')
      .replace(/'\),?$/, ''),
  })),
);

const problemOf = (text: string) => wrongWithNats(commandsOf(text)[0]!.words.slice(1));

test('the commands of the nats CLI that documents and messages name are commands of it, with flags that it knows', () => {
  const inDocuments = inlineCommands('nats');
  expect(inDocuments.length).toBeGreaterThan(3);
  expect(inMessages.length).toBeGreaterThan(10);
  const wrong = [...inDocuments, ...inMessages].flatMap(({ page, text }) => {
    const problem = problemOf(text);
    return problem === undefined ? [] : [`${page}: ${problem}`];
  });
  expect(wrong).toEqual([]);
});

test('a flag that a message puts together is one of the two commands that edit', () => {
  const known = ['stream edit', 'consumer edit', 'consumer add'].flatMap((name) =>
    NATS_COMMANDS[name]!.flags.split(' '),
  );
  const about = SOURCES.filter(({ text }) => /nats (stream|consumer) /.test(text));
  const used = about.flatMap(({ text }) => [...text.matchAll(/['`]--([a-z-]+)/g)].map(([, flag]) => flag));
  expect(used.length).toBeGreaterThan(3);
  expect(used.filter((flag) => !known.includes(flag!))).toEqual([]);
});

test.each([
  ['nats stream edti EVENTS', 'nats stream edti is not in'],
  ['nats stream edit EVENTS --dup-window=3600s', 'knows no --dup-window'],
  ['nats stream edit EVENTS outbox --replicas=3', 'takes 1 arguments'],
])('%j would be found', (text, problem) => {
  expect(problemOf(text)).toContain(problem);
});
