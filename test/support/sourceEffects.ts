import { join } from 'node:path';
import ts from 'typescript';
import { WRITES } from '../crash/points/point';
import { clientEffect } from './clientMethods';
import { ROOT } from './markdown';

/** A place in `src/` that changes something outside the process, or that nobody has judged yet. */
export interface SourceEffect {
  /** Of a statement: `sql <its name>`. Of a call: `<file> <function> <method>`, with a number from the second on. */
  readonly key: string;
  readonly at: string;
  /** Why it is one, or what is wrong with it. */
  readonly what: string;
}

export interface Scan {
  readonly effects: readonly SourceEffect[];
  /** Names of all statements, also of those that only read. */
  readonly statements: readonly string[];
  /** Statements without a name, with the text where they begin. */
  readonly unnamed: readonly string[];
}

/** Where the text of a file that is only given to the scanner stands, as if it were there. */
export const EXAMPLE = 'src/example.ts';

const STATEMENT =
  /^\s*(?:\/\* outbox: (?<name>[^*]+) \*\/)?\s*(?:\$\{|(?:SELECT|WITH|INSERT|UPDATE|DELETE|MERGE|COPY|CREATE|ALTER|DROP|TRUNCATE|LOCK|BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|LISTEN|UNLISTEN|NOTIFY|SET|GRANT|REVOKE|VACUUM|ANALYZE|REINDEX|CALL|DO)\b)/;

/**
 * Reads all of `src/` with the types that its calls have, so that a call of a client is found whatever the variable is
 * called that holds it.
 *
 * @param example a text that is read as a further file, and scanned alone
 */
export class Scanner {
  private readonly program: ts.Program;
  private readonly checker: ts.TypeChecker;

  constructor(example = '') {
    const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file));
    const given = { ...(config as object), include: ['src'] };
    const { options, fileNames } = ts.parseJsonConfigFileContent(given, ts.sys, ROOT);
    const path = join(ROOT, EXAMPLE);
    const host = ts.createCompilerHost(options);
    const disk = { ...host };
    host.fileExists = (file) => file === path || disk.fileExists(file);
    host.readFile = (file) => (file === path ? example : disk.readFile(file));
    host.getSourceFile = (file, target, ...rest) =>
      file === path ? ts.createSourceFile(file, example, target, true) : disk.getSourceFile(file, target, ...rest);
    this.program = ts.createProgram([...fileNames, path], options, host);
    this.checker = this.program.getTypeChecker();
  }

  scan(wanted: (path: string) => boolean): Scan {
    const files = this.program.getSourceFiles().flatMap((file) => {
      const path = file.fileName.startsWith(ROOT) ? file.fileName.slice(ROOT.length + 1) : '';
      return path.startsWith('src/') && wanted(path) ? [{ file, path: path.slice('src/'.length) }] : [];
    });
    const found = new Found(fragmentsOf(files.map(({ file }) => file)));
    for (const { file, path } of files) {
      const visit = (node: ts.Node): void => {
        if (isText(node)) found.text(node, path);
        else if (ts.isCallExpression(node)) this.call(node, path, found);
        ts.forEachChild(node, visit);
      };
      visit(file);
    }
    return found;
  }

  private call(node: ts.CallExpression, path: string, found: Found): void {
    let callee: ts.Expression = node.expression;
    while (ts.isParenthesizedExpression(callee) || ts.isAsExpression(callee)) callee = callee.expression;
    const name = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
    if (!ts.isIdentifier(name)) return;
    const symbol = this.checker.getSymbolAtLocation(name);
    const declared = symbol?.declarations?.[0];
    if (!symbol || !declared) return;
    const at = { file: declared.getSourceFile().fileName, owner: ownerOf(declared), method: symbol.name };
    const type = callee === name ? this.checker.getTypeAtLocation(name).aliasSymbol?.name : undefined;
    const what = type === 'Archive' ? 'calls the archive of a user' : clientEffect(at, argumentOf(node));
    if (what) found.call(node, path, type === 'Archive' ? 'archive' : symbol.name, what);
  }
}

class Found implements Scan {
  readonly effects: SourceEffect[] = [];
  readonly statements: string[] = [];
  readonly unnamed: string[] = [];

  constructor(private readonly fragments: ReadonlyMap<string, string>) {}

  text(node: ts.StringLiteralLike | ts.TemplateExpression, path: string): void {
    const raw = node.getText().slice(1, -1);
    const { groups } = STATEMENT.exec(raw) ?? {};
    if (!groups || (groups.name === undefined && (/^\s*\$\{/.test(raw) || isNoStatement(node, path, raw)))) return;
    const whole = raw.replace(/\$\{(\w+)\}/g, (hole, name: string) => this.fragments.get(name) ?? hole);
    const at = placeOf(node, path);
    if (groups.name === undefined) this.unnamed.push(`${at}: ${raw.trim().slice(0, 60)}`);
    else this.statements.push(groups.name);
    // What stands in a file of `migrations/` is not seen here.
    if (WRITES.test(whole.replace(/\/\*.*?\*\//, '')) || /^\s*\/\*[^*]*\*\/\s*\$\{/.test(raw))
      this.effects.push({ key: `sql ${groups.name ?? 'without a name'}`, at, what: 'is a statement that writes' });
  }

  call(node: ts.CallExpression, path: string, method: string, what: string): void {
    const key = `${path} ${functionAround(node)} ${method}`;
    const times = this.effects.filter((other) => other.key.replace(/ \d+$/, '') === key).length;
    this.effects.push({ key: times === 0 ? key : `${key} ${times + 1}`, at: placeOf(node, path), what });
  }
}

/** Constants whose text becomes a part of others. */
function fragmentsOf(files: readonly ts.SourceFile[]): Map<string, string> {
  const fragments = new Map<string, string>();
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer && isText(node.initializer))
      fragments.set(node.name.getText(), node.initializer.getText().slice(1, -1));
    ts.forEachChild(node, visit);
  };
  files.forEach(visit);
  return fragments;
}

/** Begins like a statement and is none that is sent. */
function isNoStatement(node: ts.Node, path: string, raw: string): boolean {
  // Printed, for a person to run.
  if (['cli/rolesPage.ts', 'postgres/roles.ts'].includes(path)) return true;
  if (path === 'doctor/privileges.ts' && raw.startsWith('GRANT ')) return true;
  // A part of others, which have the name.
  return ts.isVariableDeclaration(node.parent) && node.parent.name.getText() === 'REVIVE_DELIVERY';
}

function isText(node: ts.Node): node is ts.StringLiteralLike | ts.TemplateExpression {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

/** The first argument of a call: its text, when it is a literal or a constant, perhaps with the schema put in. */
function argumentOf({ arguments: [first] }: ts.CallExpression): 'text' | 'other' {
  let argument: ts.Node | undefined = first;
  while (
    argument &&
    ts.isCallExpression(argument) &&
    /^(bind|binder\(schema\)|begin)$/.test(argument.expression.getText())
  )
    argument = argument.expression.getText() === 'begin' ? argument.expression : argument.arguments[0];
  if (!argument) return 'other';
  const isConstant = ts.isIdentifier(argument) && /^[A-Z_]+$|^begin$/.test(argument.text);
  return isText(argument) || isConstant ? 'text' : 'other';
}

/** The type that declares a member. */
function ownerOf(declared: ts.Node): string {
  for (let node = declared.parent; node; node = node.parent) {
    if (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node) || ts.isTypeAliasDeclaration(node))
      return node.name?.text ?? '';
  }
  return '';
}

function functionAround(start: ts.Node): string {
  for (let node = start.parent; node; node = node.parent) {
    if ((ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)) && node.name) return node.name.getText();
    if (ts.isConstructorDeclaration(node)) return 'constructor';
  }
  return '';
}

function placeOf(node: ts.Node, path: string): string {
  const { line } = node.getSourceFile().getLineAndCharacterOfPosition(node.getStart());
  return `src/${path}:${line + 1}`;
}
