import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(__dirname, '..', '..');

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export interface Block {
  readonly page: string;
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** From an HTML comment on the line before: why nothing can run or check this block. */
  readonly notRun: string | undefined;
  /** From such a comment too: the file that holds these very lines. */
  readonly excerptOf: string | undefined;
}

/** All pages that a reader of the project meets. */
export function pages(): Page[] {
  return [...markdownIn(''), ...markdownIn('docs'), ...markdownIn('docs/adr'), 'examples/movie-diary/README.md'].map(
    (path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }),
  );
}

function markdownIn(directory: string): string[] {
  return readdirSync(join(ROOT, directory))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(directory, name));
}

/** The fenced blocks, also those within lists. */
export function blocksOf({ path, text }: Page): Block[] {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const open = /^( *)```(.*)$/.exec(lines[at] ?? '');
    if (!open) continue;
    const [, indent = '', language = ''] = open;
    const end = lines.findIndex((line, index) => index > at && line === `${indent}\`\`\``);
    if (end < 0) throw new Error(`${path}:${at + 1}: a block that does not end`);
    blocks.push({
      page: path,
      line: at + 1,
      language: language.trim(),
      text: lines.slice(at + 1, end).map((line) => `${line.startsWith(indent) ? line.slice(indent.length) : line}\n`).join(''),
      notRun: comment(lines[at - 1], 'not run'),
      excerptOf: comment(lines[at - 1], 'excerpt of'),
    }); // prettier-ignore
    at = end;
  }
  return blocks;
}

export function allBlocks(language: string): Block[] {
  return pages()
    .flatMap(blocksOf)
    .filter((block) => block.language === language && block.notRun === undefined);
}

/** The text between fences and without them: what is no code. */
export function proseOf(text: string): string {
  return text.replace(/^ *```[^]*?^ *```$/gm, '');
}

function comment(line: string | undefined, what: string): string | undefined {
  return new RegExp(`^ *<!-- ${what}: (.+) -->$`).exec(line ?? '')?.[1];
}

/** What stands between backticks in the text of the pages and begins with this word; `page: words`. */
export function inlineCommands(program: string): { readonly page: string; readonly text: string }[] {
  return pages().flatMap(({ path, text }) =>
    [...text.replace(/^ *```[^]*?^ *```$/gm, '').matchAll(/`([^`]+)`/g)]
      .map(([, code = '']) => ({ page: path, text: code.replace(/\s+/g, ' ') }))
      .filter((command) => command.text.startsWith(`${program} `)),
  );
}
