import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ROOT } from '../support/markdown';

/** As npm 11 prints it; of a package one advisory, and one that is faulty by another. */
const fault = (name: string, severity: string) => ({
  name,
  severity,
  isDirect: false,
  via: [{ source: 1, name, dependency: name, title: `A fault of ${name}`, url: `https://github.com/advisories/${name}`, severity, range: '<2.0.0' }, 'another'],
  effects: [],
  range: '<2.0.0',
  nodes: [`node_modules/${name}`],
  fixAvailable: true,
}); // prettier-ignore
const report = (...faults: readonly (readonly [name: string, severity: string])[]) => ({
  auditReportVersion: 2,
  vulnerabilities: Object.fromEntries(faults.map(([name, severity]) => [name, fault(name, severity)])),
  metadata: { vulnerabilities: { total: faults.length }, dependencies: { prod: 200, dev: 600, total: 800 } },
});
const refused = (message: string) => ({ message, error: { summary: '', detail: '' } });

describe('the audit of the dependencies, over what npm answers', () => {
  const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-audit-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** With an npm that prints these answers: without development tools, and with them. */
  function audit(installed: unknown, all: unknown = installed): { code: number | null; said: string } {
    const text = (answer: unknown) => (typeof answer === 'string' ? answer : JSON.stringify(answer));
    writeFileSync(join(directory, 'installed'), text(installed));
    writeFileSync(join(directory, 'all'), text(all));
    const npm = join(directory, 'npm');
    writeFileSync(npm, `#!/bin/sh\ncase "$*" in *--omit=dev*) cat '${directory}/installed' ;; *) cat '${directory}/all' ;; esac\nexit 1\n`); // prettier-ignore
    chmodSync(npm, 0o755);
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts', 'audit.mjs')], {
      encoding: 'utf8',
      env: { PATH: [directory, dirname(process.execPath), process.env.PATH].join(delimiter) },
    });
    return { code: status, said: `${stdout}${stderr}` };
  }

  it('passes when nothing is known', () => {
    expect(audit(report())).toEqual({
      code: 0,
      said: 'npm audit: no known fault in what is installed\nnpm audit: no known fault in development tools, which do not fail the check\n',
    });
  });

  it.each(['high', 'critical'])('fails for a fault of severity %s in what is installed, and names it', (severity) => {
    const { code, said } = audit(report(['mild', 'low'], ['bad', severity]));
    expect(code).toBe(1);
    expect(said).toContain(
      `  ${severity}: bad <2.0.0: A fault of bad https://github.com/advisories/bad; by another\n  low: mild`,
    );
  });

  it.each(['info', 'low', 'moderate'])('tells one of severity %s, and passes', (severity) => {
    const { code, said } = audit(report(['mild', severity]));
    expect({ code, told: said.includes(`${severity}: mild`) }).toEqual({ code: 0, told: true });
  });

  it('tells a fault of a development tool once, and passes', () => {
    const { code, said } = audit(report(['mild', 'low']), report(['mild', 'low'], ['tool', 'critical']));
    expect(code).toBe(0);
    expect(said).toContain('1 with known faults in development tools, which do not fail the check\n  critical: tool');
    expect(said.match(/mild/g)).toHaveLength(3);
  });

  it.each([
    '405 Method Not Allowed - POST https://registry.example/-/npm/v1/security/advisories/bulk',
    '404 Not Found - POST https://registry.example/-/npm/v1/security/audits/quick',
    '503 Service Unavailable - POST https://registry.example/-/npm/v1/security/advisories/bulk',
    'request to https://registry.example/-/npm/v1/security/advisories/bulk failed, reason: connect ECONNREFUSED 127.0.0.1:1',
    'request to https://registry.example/-/npm/v1/security/advisories/bulk failed, reason: getaddrinfo ENOTFOUND registry.example',
  ])('is skipped with one line and passes where the registry cannot be asked: %s', (reason) => {
    const said = `npm audit: skipped, since the registry could not be asked (${reason})\n`;
    expect(audit(refused(reason))).toEqual({ code: 0, said });
  });

  it.each([
    ['an npm that looks at no lock file', { error: { code: 'ENOLOCK', summary: 'This command requires an existing lockfile.' } }], // prettier-ignore
    ['nothing', ''],
    ['a report of another version', { auditReportVersion: 3 }],
  ])('fails for %s: it has looked at nothing', (_what, answer) => {
    const { code, said } = audit(answer);
    expect({ code, said }).toEqual({ code: 1, said: expect.stringMatching(/^npm audit: failed \(.+\)\n$/) as string });
  });

  it('is a part of the check, which CI runs before the tests', () => {
    const { scripts } = jest.requireActual<{ scripts: Record<string, string> }>('../../package.json');
    expect(scripts.check).toBe('node scripts/check.mjs');
    expect(readFileSync(join(ROOT, 'scripts', 'check.mjs'), 'utf8')).toContain("[join('scripts', 'audit.mjs')]");
    expect(scripts.test).toMatch(/^npm run --silent check && /);
  });
});
