import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './markdown';

/** Type-checks the texts as modules beside the project's own, where its packages are found; nothing is written. */
export function errorsOf(texts: readonly string[]): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file));
  const { options } = ts.parseJsonConfigFileContent(
    { ...(config as object), include: [], files: ['src/index.ts'] },
    ts.sys,
    ROOT,
  );
  options.paths = {
    'temporal-outbox': ['./src/index.ts'],
    'temporal-outbox/producer': ['./src/producer.ts'],
    'temporal-outbox/servers': ['./src/servers/index.ts'],
  };
  // A name of their own for each: an example is allowed to await at its top level.
  const files = new Map(texts.map((text, index) => [join(ROOT, `example-${index}.mts`), text]));
  const host = ts.createCompilerHost(options);
  const disk = { ...host };
  host.fileExists = (file) => files.has(file) || disk.fileExists(file);
  host.readFile = (file) => files.get(file) ?? disk.readFile(file);
  host.getSourceFile = (file, target, ...rest) => {
    const text = files.get(file);
    return text === undefined ? disk.getSourceFile(file, target, ...rest) : ts.createSourceFile(file, text, target);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files.keys()].flatMap((file) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(file))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  );
}
