import type { Command, Help } from 'commander';
import { colors } from './colors';
import type { EXIT } from './failure';
import { meaningsOf, type Variable } from './variables';

/** What the help of a verb says beside its usage, arguments and options. Each verb has one; a test sees to that. */
export interface Manual {
  /** Behind the description, what it does in more words; paragraphs with an empty line between. Indented lines stay. */
  readonly details?: string;
  /** Variables that it reads. */
  readonly environment: readonly Variable[];
  /** What its exit codes mean; 2, wrong use, is common to all. */
  readonly exits: Readonly<Partial<Record<(typeof EXIT)[keyof typeof EXIT], string>>>;
  /** Whole commands, each with what it is good for. */
  readonly examples: readonly (readonly [command: string, purpose: string])[];
  /** Verbs that one wants next, without `outbox`. */
  readonly seeAlso: readonly string[];
}

const WRONG_USE = 'wrong use: unknown verb, option or argument';
const manuals = new WeakMap<Command, Manual>();

/** Gives a verb its manual. @returns the verb */
export function addManual(command: Command, manual: Manual): Command {
  manuals.set(command, manual);
  return command;
}

export function manualOf(command: Command): Manual | undefined {
  return manuals.get(command);
}

/** The help of a verb, in one order for all of them: as a manual page has it. */
export function formatManual(command: Command, help: Help): string {
  const manual = manualOf(command);
  const width = help.helpWidth ?? 80;
  const arguments_ = help
    .visibleArguments(command)
    .map((each) => [help.argumentTerm(each), help.argumentDescription(each)]);
  const options = help.visibleOptions(command).map((each) => [help.optionTerm(each), help.optionDescription(each)]);
  const list = (title: string, items: readonly (readonly string[])[]) => section(title, itemsOf(items, help));
  return [
    `${colors.bold(nameOf(command))}${command.summary() ? ` - ${command.summary()}` : ''}`,
    '',
    `${colors.bold('Usage:')} ${help.commandUsage(command)}`,
    '',
    paragraphs([command.description(), manual?.details].filter(Boolean).join('\n\n'), width, help),
    '',
    ...list('Arguments:', arguments_),
    ...list('Options:', options),
    ...verbs(command, help),
    ...(manual
      ? [
          ...list('Environment:', meaningsOf(manual.environment)),
          ...list('Exit codes:', Object.entries({ 2: WRONG_USE, ...manual.exits })),
          ...section('Examples:', manual.examples.map(([each, purpose]) => `  ${colors.dim(`# ${purpose}`)}\n  ${indented(each)}`)),
          ...section('See also:', [`  ${manual.seeAlso.map((verb) => `outbox ${verb}`).join(', ')}`].map((line) => hanging(line, width, help))),
        ]
      : []),
  ].join('\n'); // prettier-ignore
}

/** `outbox dead list` */
export function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

/** Verbs under one that has some, by their groups. */
function verbs(command: Command, help: Help): string[] {
  const visible = help.visibleCommands(command);
  const width = Math.max(...visible.map((each) => help.subcommandTerm(each).length));
  const groups = help.groupItems([...command.commands], visible, (each) => each.helpGroup() || 'Verbs:');
  return [...groups].flatMap(([title, group]) =>
    section(title, itemsOf(group.map((each) => [help.subcommandTerm(each), help.subcommandDescription(each)]), help, width)),
  ); // prettier-ignore
}

function itemsOf(items: readonly (readonly string[])[], help: Help, least = 0): string[] {
  const width = Math.max(least, ...items.map(([term = '']) => term.length));
  return items.map(([term = '', text = '']) => help.formatItem(term, width, text, help));
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [colors.bold(title), ...lines, ''];
}

function paragraphs(text: string, width: number, help: Help): string {
  return text
    .split('\n\n')
    .map((each) => (/^\s/m.test(each) ? each : help.boxWrap(each.replaceAll('\n', ' '), width)))
    .join('\n\n');
}

function hanging(line: string, width: number, help: Help): string {
  return help.boxWrap(line, width).replaceAll('\n', '\n  ');
}

function indented(text: string): string {
  return text.replaceAll('\n', '\n  ');
}
