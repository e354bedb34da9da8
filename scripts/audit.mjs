// Asks the registry for known faults of the dependencies, as a part of `npm run check`. A fault of severity high or above
// in what the package installs ends it with exit code 1; lesser ones, and those of development tools, are only told. A
// registry that cannot be asked is one line and exit code 0: most mirrors offer no audit, and CI must run behind them.
import { spawnSync } from 'node:child_process';

/** From the least; npm has no others. */
const SEVERITIES = ['info', 'low', 'moderate', 'high', 'critical'];
const FAILING = SEVERITIES.slice(SEVERITIES.indexOf('high'));
/** For each question: a registry that hangs must not hold up the check. */
const TIMEOUT_MS = 60_000;
const NETWORK = /^request to \S+ failed|\b(network|socket) (timeout|hang up)|\bE[A-Z]+(REFUSED|RESET|NOTFOUND|TIMEDOUT)\b|\bEAI_AGAIN\b/; // prettier-ignore
const STATUS = /^[1-5]\d\d /;

const installed = ask('--omit=dev');
if (installed.skipped) {
  console.log(`npm audit: skipped, since the registry could not be asked (${installed.skipped})`);
} else {
  const failing = installed.faults.filter(({ severity }) => FAILING.includes(severity));
  tell('what is installed', installed.faults);
  const known = new Set(installed.faults.map(({ name }) => name));
  const all = ask('--include=dev');
  if (all.skipped) console.log(`npm audit: the development tools were skipped (${all.skipped})`);
  else tell('development tools, which do not fail the check', all.faults.filter(({ name }) => !known.has(name))); // prettier-ignore
  if (failing.length > 0) process.exitCode = 1;
}

/**
 * @returns the faults of the packages of the lock file, or why the registry could not be asked; anything else that npm
 *   says ends the process, since a check that looks at nothing must not pass for one that has found nothing
 */
function ask(which) {
  const npm = /npm-cli\.js$/.test(process.env.npm_execpath ?? '') ? process.env.npm_execpath : undefined;
  const args = ['audit', which, '--json', '--fetch-retries=0', '--no-update-notifier', '--loglevel=silent'];
  const { stdout, error } = spawnSync(npm ? process.execPath : 'npm', npm ? [npm, ...args] : args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    timeout: TIMEOUT_MS,
    shell: !npm && process.platform === 'win32',
  });
  if (error?.code === 'ETIMEDOUT') return { skipped: `no answer within ${TIMEOUT_MS / 1_000} s` };
  const report = parse(stdout);
  if (report?.auditReportVersion === 2 && report.vulnerabilities) {
    return { faults: Object.values(report.vulnerabilities) };
  }
  const said = report?.message ?? report?.error?.summary ?? error?.message ?? 'npm said nothing that can be read';
  if (report && (STATUS.test(said) || NETWORK.test(said))) return { skipped: said };
  console.error(`npm audit: failed (${said})`);
  process.exit(1);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The worst first; what only depends on another faulty package has no advisory of its own. */
function tell(where, faults) {
  const by = [...faults].sort((a, b) => SEVERITIES.indexOf(b.severity) - SEVERITIES.indexOf(a.severity));
  console.log(`npm audit: ${by.length === 0 ? 'no known fault' : `${by.length} with known faults`} in ${where}`);
  for (const { name, severity, range, via } of by) {
    const reasons = via.map((one) => (typeof one === 'string' ? `by ${one}` : `${one.title} ${one.url}`));
    console.log(`  ${severity}: ${name} ${range}: ${reasons.join('; ')}`);
  }
}
