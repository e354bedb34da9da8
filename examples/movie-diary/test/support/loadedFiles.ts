/*
 * Preloaded into a process under test. At SIGUSR2 it tells what that process has loaded, into the file that LOADED_FILES
 * names: CommonJS modules and addons from the cache, every script from the debugger (ES modules are in no cache that can
 * be read), and the shared libraries from the process report.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

const target = process.env.LOADED_FILES ?? '';
const scripts = new Set<string>();
const session = new Session();
session.connect();
session.on('Debugger.scriptParsed', ({ params }) => scripts.add(params.url));
session.post('Debugger.enable');

process.on('SIGUSR2', () => {
  const { sharedObjects } = process.report?.getReport() as { sharedObjects: string[] };
  const files = [...Object.keys(require.cache), ...scripts, ...sharedObjects];
  // Whole or not at all: somebody waits for it.
  writeFileSync(`${target}.part`, JSON.stringify(files));
  renameSync(`${target}.part`, target);
});
