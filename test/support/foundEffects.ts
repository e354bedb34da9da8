import ts from 'typescript';
import { WRITES } from '../crash/points/point';

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

const STATEMENT =
  /^\s*(?:\/\* outbox: (?<name>[^*]+) \*\/)?\s*(?:\$\{|(?:SELECT|WITH|INSERT|UPDATE|DELETE|MERGE|COPY|CREATE|ALTER|DROP|TRUNCATE|LOCK|BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|LISTEN|UNLISTEN|NOTIFY|SET|GRANT|REVOKE|VACUUM|ANALYZE|REINDEX|CALL|DO)\b)/;

/** What is found, under the names that the catalog knows. */
export class Found implements Scan {
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

  call(node: ts.Node, path: string, method: string, what: string): void {
    const key = `${path} ${functionAround(node)} ${method}`;
    const times = this.effects.filter((other) => other.key.replace(/ \d+$/, '') === key).length;
    this.effects.push({ key: times === 0 ? key : `${key} ${times + 1}`, at: placeOf(node, path), what });
  }
}

/** Constants whose text becomes a part of others. */
export function fragmentsOf(files: readonly ts.SourceFile[]): Map<string, string> {
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
  // What the server has said is compared with it.
  if (ts.isBinaryExpression(node.parent) && node.parent.operatorToken.getText().endsWith('==')) return true;
  // Printed, for a person to run.
  if (['cli/rolesPage.ts', 'postgres/roles.ts'].includes(path)) return true;
  if (path === 'doctor/privileges.ts' && raw.startsWith('GRANT ')) return true;
  // A part of others, which have the name.
  return ts.isVariableDeclaration(node.parent) && node.parent.name.getText() === 'REVIVE_DELIVERY';
}

export function isText(node: ts.Node): node is ts.StringLiteralLike | ts.TemplateExpression {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

/** Begins as one, and not with something that is put in at run time. */
export function isStatement(text: ts.StringLiteralLike | ts.TemplateExpression): boolean {
  const raw = text.getText().slice(1, -1);
  return STATEMENT.test(raw) && !/^\s*\$\{/.test(raw);
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
