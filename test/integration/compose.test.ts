import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadConfig } from '../../src/config';
import { fetchTool } from '../../src/servers/fetchTool';
import { UNTHROTTLED } from '../../src/servers/temporal';
import { natsServer, temporalCli } from '../../src/servers/tools';
import { composeConfig, milliseconds, REPOSITORY, someSecrets, type Service } from '../support/composeFile';
import { hadolint, runTool } from '../support/deployTools';

const TEXT = readFileSync(join(REPOSITORY, 'docker-compose.yml'), 'utf8');
/** What `runWorker` allows itself behind its grace: to force the end, and to close what it opened. */
const FORCE_AND_CLOSE_MS = 4_000 + 3 * 2_000;

describe('docker-compose.yml, as Docker Compose reads it', () => {
  const secrets = someSecrets();
  let all: [string, Service][];
  let services: Readonly<Record<string, Service>>;

  beforeAll(async () => {
    const resolved = await composeConfig(secrets);
    expect(resolved).toMatchObject({ code: 0, stderr: '' });
    services = resolved.services;
    all = Object.entries(services);
  });

  const isTask = ({ restart }: Service) => restart !== 'unless-stopped';

  it('has everything, the monitoring as a profile', () => {
    const inProfile = (profile?: string) =>
      all.filter(([, { profiles }]) => profiles?.[0] === profile).map(([name]) => name);
    expect(inProfile().sort()).toEqual(
      [
        ...[
          'postgres',
          'nats',
          'temporal-postgres',
          'temporal-schema',
          'temporal',
          'temporal-namespace',
          'temporal-ui',
        ],
        ...['migrate-outbox', 'migrate-diary', 'grants', 'server', 'worker', 'metadata'],
      ].sort(),
    );
    expect(inProfile('monitoring').sort()).toEqual(['grafana', 'prometheus']);
  });

  it('gets its secrets from the command in .env.example, each another', () => {
    const text = readFileSync(join(REPOSITORY, '.env.example'), 'utf8');
    const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-env-'));
    writeFileSync(join(directory, '.env.example'), text);
    const { status, stderr } = spawnSync('sh', ['-c', /^#\s+(while .*)$/m.exec(text)?.[1] ?? 'false'], {
      cwd: directory,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const made = readFileSync(join(directory, '.env'), 'utf8');
    rmSync(directory, { recursive: true, force: true });
    const values = Object.keys(secrets).map((name) => new RegExp(`^${name}=([0-9a-f]{48})$`, 'm').exec(made)?.[1]);
    expect(new Set(values.filter(Boolean)).size).toBe(Object.keys(secrets).length);
  });

  it('names the variable and the place where to set it when a secret is missing', async () => {
    expect(Object.keys(secrets).length).toBeGreaterThan(3);
    for (const name of Object.keys(secrets)) {
      const { code, stderr } = await composeConfig({ ...secrets, [name]: '' });
      expect({ name, code, stderr }).toEqual({ name, code: expect.any(Number) as number, stderr: expect.stringContaining(name) as string }); // prettier-ignore
      expect({ name, failed: code !== 0, told: stderr.includes('.env.example') }).toEqual({ name, failed: true, told: true }); // prettier-ignore
    }
  });

  it('holds no secret: each password is one of those in .env', () => {
    const values = all.flatMap(([service, { environment = {} }]) =>
      Object.entries(environment)
        .filter(([name, value]) => /PASSW|PWD|SECRET|TOKEN/.test(name) || /:\/\/[^/]*@/.test(value))
        .map(([name, value]) => ({ service, name, value })),
    );
    expect(values.length).toBeGreaterThan(8);
    expect(values.filter(({ value }) => !Object.values(secrets).some((secret) => value.includes(secret)))).toEqual([]);
    // Nor one that stands in when the variable is missing.
    for (const name of Object.keys(secrets)) expect(TEXT).not.toMatch(new RegExp(`\\$\\{?${name}(?!:\\?|\\w)`));
  });

  it('publishes pages on this machine only, and no server of data', () => {
    const published = all.flatMap(([name, { ports = [] }]) => ports.map((port) => ({ name, ...port })));
    expect(published.filter(({ host_ip }) => host_ip !== '127.0.0.1')).toEqual([]);
    expect(published.map(({ name }) => name).sort()).toEqual(['grafana', 'prometheus', 'server', 'temporal-ui']);
  });

  it('pins every image, and of the servers the versions that the tests run with', async () => {
    const pulled = all.filter(([, { build }]) => !build);
    expect(pulled.filter(([, { image }]) => !/:v?\d+\.\d+(\.\d+)?(-[a-z]+)?$/.test(image)).map(([name]) => name)).toEqual([]); // prettier-ignore
    expect(services.nats?.image).toBe(`nats:${natsServer.version}-alpine`);
    const { stdout } = await promisify(execFile)(await fetchTool(temporalCli, () => undefined), ['--version']);
    const [, server, ui] = /Server ([\d.]+), UI ([\d.]+)/.exec(stdout) ?? [];
    expect(services.temporal?.image).toBe(`temporalio/server:${server}`);
    expect(services['temporal-schema']?.image).toBe(`temporalio/admin-tools:${server}`);
    expect(services['temporal-ui']?.image).toBe(`temporalio/ui:${ui}`);
  });

  it('checks the health of all that stays up, and starts nothing before what it needs is healthy or has ended well', () => {
    const staying = all.filter(([, service]) => !isTask(service));
    expect(staying.filter(([, { healthcheck }]) => !healthcheck).map(([name]) => name)).toEqual([]);
    const dependencies = all.flatMap(([name, { depends_on = {} }]) =>
      Object.entries(depends_on).map(([on, { condition }]) => ({ name, on, condition })),
    );
    const fitting = (on: string) =>
      isTask(services[on] as Service) ? 'service_completed_successfully' : 'service_healthy';
    expect(dependencies.filter(({ on, condition }) => condition !== fitting(on))).toEqual([]);
    // `up --wait` takes a task that has ended for a failure, unless somebody waits for its end.
    const awaited = dependencies.map(({ on }) => on);
    expect(all.filter(([name, service]) => isTask(service) && !awaited.includes(name)).map(([name]) => name)).toEqual(
      [],
    );
  });

  it('gives the worker more time to stop than it takes', () => {
    const { environment, stop_grace_period } = services.worker as Service;
    const { worker } = loadConfig(environment);
    expect(milliseconds(stop_grace_period ?? '0s')).toBeGreaterThanOrEqual(worker.shutdownGraceMs + FORCE_AND_CLOSE_MS);
  });

  it('bounds what each may take of processors, memory, processes and disk for its log', () => {
    const bounded = ({ cpus, mem_limit, pids_limit, logging, init }: Service) =>
      (cpus ?? 0) > 0 && Number(mem_limit) > 0 && (pids_limit ?? 0) > 0 && logging?.options['max-size'] && init;
    expect(all.filter(([, service]) => !bounded(service)).map(([name]) => name)).toEqual([]);
  });

  it('mounts only files that are there', () => {
    const bound = all.flatMap(([, { volumes = [] }]) => volumes.filter(({ type }) => type === 'bind'));
    expect(bound.length).toBeGreaterThan(5);
    expect(bound.map(({ source }) => source).filter((source) => !existsSync(source))).toEqual([]);
  });

  it('lifts the same limits of Temporal as the development server', () => {
    const text = readFileSync(join(REPOSITORY, 'ops', 'compose', 'temporal.yaml'), 'utf8');
    const lifted = [...text.matchAll(/^([\w.]+):\n {2}- value: (\d+)$/gm)].map(([, name, value]) => `${name}=${value}`);
    expect(lifted.sort()).toEqual([...UNTHROTTLED].sort());
  });
});

describe('the Dockerfile', () => {
  it('is found faultless by hadolint, which finds the faults of another', async () => {
    expect(await runTool(hadolint, [join(REPOSITORY, 'Dockerfile')])).toEqual({ code: 0, stdout: '', stderr: '' });
    const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-lint-'));
    writeFileSync(join(directory, 'Dockerfile'), 'FROM node:latest\nRUN cd /app && npm install\n');
    const { code, stdout } = await runTool(hadolint, [join(directory, 'Dockerfile')]);
    rmSync(directory, { recursive: true, force: true });
    expect(code).not.toBe(0);
    expect(stdout).toContain('DL3007');
  });
});
