import type { Command } from 'commander';
import { colors } from '../cli/colors';
import { CommandFailure, EXIT } from '../cli/failure';
import { addManual } from '../cli/manual';
import { counted, note, print, printJson } from '../cli/output';
import { DATABASE, NATS, TEMPORAL } from '../cli/variables';
import { loadConfig } from '../config';
import type { Finding, Level } from '../doctor/finding';

interface DoctorOptions {
  appRole?: string;
  json?: boolean;
}

const MARKS: Record<Level, string> = {
  ok: colors.green('ok     '),
  warning: colors.yellow('warning'),
  fault: colors.red('fault  '),
  unknown: colors.yellow('unknown'),
};

export function addDoctor(program: Command): void {
  const verb = program
    .command('doctor')
    .summary('check servers, tables, privileges, stream and workers')
    .description(
      'Looks at everything that an outbox stands on, and says of each thing whether it is in order, and what to do when it is not. Only reads, but for one notification that it sends to itself. Takes seconds.',
    )
    .option('--app-role <name>', 'also check that this PostgreSQL role may enqueue, as an application does')
    .option('--json', 'print an array of findings as JSON')
    .action(runDoctor);
  addManual(verb, {
    details: `  ok       in order
  warning  works, and will not under load or in an outage
  fault    does not work, or loses a guarantee
  unknown  could not be looked at, and why

It judges by the settings that it is given: give it those of the workers, and run it where they run.`,
    environment: [
      ...DATABASE,
      'OUTBOX_LISTEN_URL',
      'EVENT_BUS_BACKEND',
      ...NATS,
      'NATS_MODE',
      ...TEMPORAL,
      'OUTBOX_TASK_QUEUE',
      'OUTBOX_BUILD_ID',
      'EVENT_QUEUE_MAX_ATTEMPTS',
      'OUTBOX_LEDGER_RETENTION_MS',
    ],
    exits: { 0: 'no faults; there may be warnings', 1: 'faults, or something could not be looked at' },
    examples: [
      ['outbox doctor', 'is everything in order?'],
      ['outbox doctor --app-role shop', 'may the application enqueue?'],
      [`outbox doctor --json | jq '.[] | select(.level != "ok")'`, 'for a program'],
    ],
    seeAlso: ['status', 'config', 'migrate'],
  });
}

async function runDoctor({ appRole, json }: DoctorOptions): Promise<void> {
  const config = loadConfig();
  // Loaded here, since it brings Temporal's client and that of NATS along.
  const { examine } = await import('../doctor/examine.js');
  const findings = await examine(config, appRole);
  if (json) printJson(findings);
  else print(findings.map(render).join('\n'));
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length;
  const [faults, unknowns, warnings] = [count('fault'), count('unknown'), count('warning')];
  if (faults + unknowns > 0) {
    const parts = [faults > 0 && counted(faults, 'fault'), unknowns > 0 && `${unknowns} not looked at`].filter(Boolean);
    throw new CommandFailure(`${parts.join(', ')}, ${counted(warnings, 'warning')}.`, EXIT.failed);
  }
  if (!json) note(colors.dim(warnings > 0 ? `No faults, ${counted(warnings, 'warning')}.` : 'Everything is in order.'));
}

function render({ check, level, what, todo }: Finding): string {
  const lines = `${MARKS[level]}  ${colors.bold(check.padEnd(17))}  ${what}`;
  return todo === null ? lines : `${lines}\n${' '.repeat(28)}${colors.cyan('→')} ${todo}`;
}
