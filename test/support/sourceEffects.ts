import { join } from 'node:path';
import ts from 'typescript';
import { clientEffect } from './clientMethods';
import { Found, fragmentsOf, isStatement, isText, type Scan } from './foundEffects';
import { ROOT } from './markdown';

/** Where the text of a file that is only given to the scanner stands, as if it were there. */
export const EXAMPLE = 'src/example.ts';

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
        this.name(node, path, found);
        ts.forEachChild(node, visit);
      };
      visit(file);
    }
    return found;
  }

  /**
   * What is named and not only what is called: a method that is taken out of its object, or handed to somebody else, is
   * called later by another name.
   */
  private name(node: ts.Node, path: string, found: Found): void {
    if (ts.isElementAccessExpression(node)) return this.anyName(node, path, found);
    const named = this.namedBy(node);
    if (!named) return;
    const call = callOf(node);
    const type = call && this.checker.getTypeAtLocation(node).aliasSymbol?.name;
    if (type === 'Archive') return found.call(node, path, 'archive', 'calls the archive of a user');
    const statement = call && this.isRead(call.arguments[0]) ? 'read' : 'not read';
    // A function that sends what it is given.
    if (type === 'Runner' && statement === 'not read')
      return found.call(node, path, named.name, 'sends a statement whose text is not read here');
    for (const declared of named.declarations ?? []) {
      const { fileName: file } = declared.getSourceFile();
      // What is the project's own does something where it is called, and that is found by what it does there.
      if (!this.isFunction(declared, node) || (!call && !file.includes('/node_modules/'))) continue;
      const what = clientEffect({ file, owner: ownerOf(declared), method: named.name }, statement);
      if (what) return found.call(node, path, named.name, what);
    }
  }

  /** A method whose name is made at run time. */
  private anyName(node: ts.ElementAccessExpression, path: string, found: Found): void {
    const call = node.parent;
    if (ts.isStringLiteralLike(node.argumentExpression) || !ts.isCallExpression(call) || call.expression !== node)
      return;
    const file = this.checker.getResolvedSignature(call)?.declaration?.getSourceFile().fileName ?? '';
    const what = clientEffect({ file, owner: '', method: 'any method' }, 'not read');
    if (what) found.call(node, path, 'any', what);
  }

  private namedBy(node: ts.Node): ts.Symbol | undefined {
    const { parent } = node;
    if (ts.isStringLiteralLike(node) && ts.isElementAccessExpression(parent) && parent.argumentExpression === node)
      return this.checker.getSymbolAtLocation(node);
    if (!ts.isIdentifier(node) || isDeclaring(node)) return undefined;
    if (ts.isBindingElement(parent) && ts.isObjectBindingPattern(parent.parent)) {
      if ((parent.propertyName ?? parent.name) !== node) return undefined;
      return this.checker.getPropertyOfType(this.checker.getTypeAtLocation(parent.parent), node.text);
    }
    return this.resolve(this.checker.getSymbolAtLocation(node));
  }

  private isFunction(declared: ts.Declaration, at: ts.Node): boolean {
    if (ts.isMethodDeclaration(declared) || ts.isMethodSignature(declared) || ts.isFunctionDeclaration(declared))
      return true;
    const isValue =
      ts.isPropertySignature(declared) ||
      ts.isPropertyDeclaration(declared) ||
      ts.isVariableDeclaration(declared) ||
      ts.isGetAccessor(declared);
    return isValue && this.checker.getTypeAtLocation(at).getCallSignatures().length > 0;
  }

  /**
   * Whether the text of a statement is one that `Found.text` sees: a literal, a constant, or what a function of one line
   * makes of one; perhaps with the schema put in.
   */
  private isRead(given: ts.Node | undefined): boolean {
    if (!given) return false;
    if (isText(given)) return isStatement(given);
    if (ts.isCallExpression(given)) {
      const called = given.expression.getText();
      if (called === 'bind' || called.startsWith('binder(')) return this.isRead(given.arguments[0]);
      const declared = this.declarationOf(given.expression);
      const [step] = declared && ts.isFunctionDeclaration(declared) ? (declared.body?.statements ?? []) : [];
      return step !== undefined && ts.isReturnStatement(step) && this.isRead(step.expression);
    }
    const declared = this.declarationOf(given);
    const isConstant = declared && ts.isVariableDeclaration(declared) && declared.parent.flags & ts.NodeFlags.Const;
    return Boolean(isConstant) && this.isRead((declared as ts.VariableDeclaration).initializer);
  }

  private declarationOf(node: ts.Node): ts.Declaration | undefined {
    return this.resolve(ts.isIdentifier(node) ? this.checker.getSymbolAtLocation(node) : undefined)?.declarations?.[0];
  }

  private resolve(symbol: ts.Symbol | undefined): ts.Symbol | undefined {
    return symbol && symbol.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol;
  }
}

/** The call of what a node names. */
function callOf(node: ts.Node): ts.CallExpression | undefined {
  let callee = node;
  const { parent } = node;
  if ((ts.isPropertyAccessExpression(parent) && parent.name === node) || ts.isElementAccessExpression(parent))
    callee = parent;
  while (ts.isParenthesizedExpression(callee.parent) || ts.isAsExpression(callee.parent)) callee = callee.parent;
  return ts.isCallExpression(callee.parent) && callee.parent.expression === callee ? callee.parent : undefined;
}

/** Where a name is brought in or given, and nothing is done with it. */
function isDeclaring({ parent }: ts.Identifier): boolean {
  return ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isNamespaceImport(parent);
}

/** The type that declares a member. */
function ownerOf(declared: ts.Node): string {
  for (let node = declared.parent; node; node = node.parent) {
    if (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node) || ts.isTypeAliasDeclaration(node))
      return node.name?.text ?? '';
  }
  return '';
}
