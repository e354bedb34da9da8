import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dockerCompose, runTool } from './deployTools';

export const REPOSITORY = join(__dirname, '..', '..');

/** A service as Docker Compose understands it, everything resolved. */
export interface Service {
  readonly image: string;
  readonly build?: object;
  readonly command: readonly string[] | null;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly { readonly host_ip?: string; readonly published: string; readonly target: number }[];
  readonly volumes?: readonly { readonly type: string; readonly source: string; readonly target: string }[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[]; readonly interval: string; readonly timeout: string };
  readonly restart?: string;
  readonly stop_grace_period?: string;
  readonly profiles?: readonly string[];
  readonly user?: string;
  readonly init?: boolean;
  readonly cpus?: number;
  readonly mem_limit?: string;
  readonly pids_limit?: number;
  readonly logging?: { readonly driver: string; readonly options: Readonly<Record<string, string>> };
}

/** The secrets of `.env.example`, each with a value that can be told from the others. */
export function someSecrets(): Record<string, string> {
  const names = [...readFileSync(join(REPOSITORY, '.env.example'), 'utf8').matchAll(/^(\w+)=$/gm)].map(
    ([, name = '']) => name,
  );
  // As random ones may, it begins with a digit and looks like a number.
  return Object.fromEntries(names.map((name) => [name, `1e5${name.replaceAll('_', '').toLowerCase()}`]));
}

/** What Docker Compose makes of `docker-compose.yml` with this `.env`, and with nothing of our own environment. */
export async function composeConfig(
  secrets: Readonly<Record<string, string>>,
): Promise<{ code: number; stderr: string; services: Readonly<Record<string, Service>> }> {
  const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-compose-'));
  const envFile = join(directory, 'env');
  writeFileSync(envFile, Object.entries(secrets).map((pair) => `${pair.join('=')}\n`).join('')); // prettier-ignore
  try {
    const args = ['--env-file', envFile, '--profile', '*', 'config', '--format', 'json'];
    const env = { PATH: process.env.PATH, HOME: directory };
    const { code, stdout, stderr } = await runTool(dockerCompose, args, { cwd: REPOSITORY, env });
    const { services } = (code === 0 ? JSON.parse(stdout) : { services: {} }) as { services: Record<string, Service> };
    return { code, stderr, services };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** `1m30s` in milliseconds. */
export function milliseconds(duration: string): number {
  const units: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
  return [...duration.matchAll(/([\d.]+)(h|ms|m|s)/g)].reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? NaN),
    0,
  );
}
