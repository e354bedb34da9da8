import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { connect } from 'nats';
import { Pool } from 'pg';
import { findNats, findTemporal } from '../../src/servers/findBinaries';
import { freePort } from '../../src/servers/ports';
import { composeConfig, milliseconds, REPOSITORY, someSecrets, type Service } from '../support/composeFile';
import { buildByHand, filesOf } from '../support/dockerfile';
import { eventually } from '../support/eventually';
import { OwnServers } from '../support/ownServers';

/** Packages are installed and everything is compiled, beside other tests. */
jest.setTimeout(1_800_000);

/** The image's user; only root may become another one. */
const NODE_USER = { uid: 1_000, gid: 1_000 };
const PATIENCE_MS = 240_000;

/**
 * There may be no engine. What it would run is run by hand: the stages of the Dockerfile on a copy of what the builder is
 * given, then the command of each service of ours in the directory of the last stage, with the service's environment as
 * Docker Compose resolves it. Only names of hosts, ports and directories are replaced by this machine's.
 */
describe('the image and its services, built and run by hand', () => {
  const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-image-'));
  const data = join(directory, 'data');
  const secrets = someSecrets();
  const own = new OwnServers();
  const children: ChildProcess[] = [];
  const as = userOfTheImage();
  let services: Readonly<Record<string, Service>>;
  let image: Awaited<ReturnType<typeof buildByHand>>;
  let replacements: [string, string][];
  let admin: Pool;
  let postgresUrl: string;

  beforeAll(async () => {
    // The image's user must get in.
    chmodSync(directory, 0o755);
    const resolved = await composeConfig(secrets);
    services = resolved.services;
    image = await buildByHand(REPOSITORY, directory);

    const postgres = await own.postgres();
    const temporal = await own.temporal();
    postgresUrl = postgres.url;
    admin = new Pool({ connectionString: postgresUrl, max: 2 });
    // PostgreSQL may end the last connection before this pool has closed it.
    admin.on('error', () => undefined);
    await admin.query(databaseScript(secrets));
    await admin.query('CREATE DATABASE diary OWNER diary');
    mkdirSync(join(data, 'objects'), { recursive: true });
    if (as) chownSync(join(data, 'objects'), as.uid, as.gid);
    const at = async () => `127.0.0.1:${await freePort()}`;
    const metadata = await at();
    replacements = [
      ['postgres:5432', new URL(postgres.url).host],
      ['temporal:7233', temporal.url],
      ['nats:4222', await at()],
      ['metadata:8302', metadata],
      ['127.0.0.1:8302', metadata],
      ['127.0.0.1:8300', await at()],
      ['127.0.0.1:8222', await at()],
      ['127.0.0.1:9464', await at()],
      ['/data', data],
    ];
  });

  afterAll(async () => {
    for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await admin?.end();
    await own.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** The text with this machine's places: `<host>:<port>` as a whole, then the ports by themselves. */
  const here = (text: string): string => {
    const ports = replacements.map(([from, to]) => [from, to].map((place) => place.split(':')[1] ?? ''));
    // Nothing here is reached from elsewhere.
    const nearby = text.replaceAll('0.0.0.0', '127.0.0.1');
    const placed = replacements.reduce((all, [from, to]) => all.replaceAll(from, to), nearby);
    return ports.reduce((all, [from = '', to = '']) => (all === from ? to : all), placed);
  };
  const placeOf = (name: string) => replacements.find(([from]) => from === name)?.[1] ?? '';

  function start(name: string, command = services[name]?.command ?? []): ChildProcess & { said: () => string } {
    const { environment = {} } = services[name] as Service;
    const placed = Object.entries(environment).map(([variable, value]) => [variable, here(value)]);
    const working = join(image.root, image.workingDirectory);
    const path = (image.environment.PATH ?? '').replace('/app', working).replace('$PATH', process.env.PATH ?? '');
    const child = spawn(command[0] ?? '', command.slice(1).map(here), {
      cwd: working,
      env: { ...image.environment, ...(Object.fromEntries(placed) as object), PATH: path, HOME: '/nowhere' },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...as,
    });
    children.push(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (said += text));
    return Object.assign(child, { said: () => said });
  }

  const ended = (child: ChildProcess) =>
    child.exitCode ?? new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));

  async function runs(name: string, command?: readonly string[]): Promise<string> {
    const child = start(name, command);
    const code = await ended(child);
    expect({ name, code, said: code === 0 ? '' : child.said() }).toEqual({ name, code: 0, said: '' });
    return child.said();
  }

  /** By the service's own health check. */
  async function healthy(name: string): Promise<void> {
    const [kind, ...test] = services[name]?.healthcheck?.test ?? [];
    expect(kind).toBe('CMD');
    await eventually(async () => (await ended(start(name, test))) === 0, PATIENCE_MS, `that ${name} is healthy`);
  }

  it('is given no file that the build does not need, and none of a developer’s', () => {
    const files = filesOf(REPOSITORY);
    expect(files).toContain('src/worker.ts');
    expect(files).toContain('examples/movie-diary/migrations/0001_films.sql');
    expect(files.filter((file) => /(^|\/)(\.|node_modules|dist|test)/.test(file))).toEqual([]);
  });

  it('runs nothing in its last stage, is no root, and holds one platform’s native library and no development dependency', () => {
    // So nothing that this test cannot do by hand.
    expect(image.ran).toBe(0);
    expect(readFileSync(join(REPOSITORY, 'Dockerfile'), 'utf8')).toMatch(/^USER 1000:1000$/m);
    const modules = join(image.root, 'app', 'node_modules');
    expect(readdirSync(join(modules, '@temporalio', 'core-bridge', 'releases'))).toHaveLength(1);
    for (const name of ['typescript', 'jest', 'eslint']) expect(existsSync(join(modules, name))).toBe(false);
    expect(existsSync(join(image.root, 'app', 'dist', 'workflow-bundle.js'))).toBe(true);
    expect(image.command).toEqual(services.server?.command);
  });

  it('makes the namespace by the script of temporal-namespace, however often that runs', async () => {
    const { environment = {}, command } = services['temporal-namespace'] as Service;
    const run = () => {
      const { status, stderr, stdout } = spawnSync('sh', [join(REPOSITORY, 'ops', (command ?? [])[1] ?? '')], {
        encoding: 'utf8',
        env: {
          ...environment,
          TEMPORAL_ADDRESS: placeOf('temporal:7233'),
          TEMPORAL_NAMESPACE: 'made-anew',
          PATH: path,
          HOME: directory,
        },
      });
      return { status, stdout: stdout.slice(stdout.lastIndexOf('The namespace')), stderr: status === 0 ? '' : stderr };
    };
    const path = [dirname(await findTemporal(() => undefined)), process.env.PATH].join(delimiter);
    const made = { status: 0, stdout: 'The namespace made-anew is there.\n', stderr: '' };
    expect(run()).toEqual(made);
    expect(run()).toEqual(made);
  });

  it('makes Temporal’s two databases by the script of temporal-schema, and ends where its tool fails', () => {
    console.warn(
      'temporal-sql-tool is in no registry that tests use: the script runs with a stand-in, which shows what it would be told, and not that a schema comes of it.',
    );
    const { environment = {}, command } = services['temporal-schema'] as Service;
    const tools = join(directory, 'tools');
    mkdirSync(tools);
    const tool = join(tools, 'temporal-sql-tool');
    writeFileSync(
      tool,
      `#!/bin/sh\necho "$SQL_PLUGIN $SQL_HOST $SQL_USER $SQL_PASSWORD: $*"\n[ "$*" != "$FAILING" ]\n`,
    );
    chmodSync(tool, 0o755);
    const run = (failing: string) =>
      spawnSync('sh', [join(REPOSITORY, 'ops', (command ?? [])[1] ?? '')], {
        encoding: 'utf8',
        env: { ...environment, FAILING: failing, PATH: [tools, process.env.PATH].join(delimiter) },
      });
    const as = `postgres12 temporal-postgres temporal ${secrets.TEMPORAL_DATABASE_PASSWORD}`;
    const steps = [
      ['temporal', 'temporal'],
      ['temporal_visibility', 'visibility'],
    ].flatMap(([database, schema]) => [
      `--database ${database} create`,
      `--database ${database} setup-schema --version 0.0`,
      `--database ${database} update-schema --schema-dir /etc/temporal/schema/postgresql/v12/${schema}/versioned`,
    ]);
    expect(run('')).toMatchObject({ status: 0, stderr: '', stdout: steps.map((step) => `${as}: ${step}\n`).join('') });
    const cut = run(steps[2] ?? '');
    expect({ failed: cut.status !== 0, said: cut.stdout.trim().split('\n').length }).toEqual({ failed: true, said: 3 });
  });

  it('brings the tables up to date, serves, handles a review to its poster, and stops in time with exit code 0', async () => {
    const nats = await startNats();
    const metadata = start('metadata');
    await healthy('metadata');
    await runs('migrate-outbox');
    await runs('migrate-diary');
    // At each `up` once more.
    await runs('grants');
    await Promise.all([runs('migrate-outbox'), runs('migrate-diary')]);
    await runs('grants');
    const server = start('server');
    const worker = start('worker');
    await healthy('server');
    await healthy('worker');

    const origin = `http://${placeOf('127.0.0.1:8300')}`;
    await put(`${origin}/users/ada`, { displayName: 'Ada' });
    const review = { film: { number: 1, title: 'The Land Girls' }, rating: 7, comment: null, watchedOn: '2024-05-01' };
    await put(`${origin}/users/ada/reviews/7b1c8a52-9d3e-4a86-8f0b-3f6f3b0f5a11`, review);
    await eventually(() => readdirSync(join(data, 'objects'), { recursive: true, encoding: 'utf8' }).some((file) => /webp|jpe?g|png|svg/.test(file)), PATIENCE_MS, 'a poster'); // prettier-ignore
    const found = await eventually(
      async () => {
        const answer = await (await fetch(`${origin}/search?q=land+girls`)).text();
        return answer.includes('The Land Girls') && answer;
      },
      PATIENCE_MS,
      'the film in the index',
    );
    expect(found).toContain('The Land Girls');
    expect(await connectedRoles()).toEqual(['diary_server', 'diary_worker']);
    expect(await mayOnOutbox('diary_server')).toEqual([]);
    expect(await mayOnOutbox('diary_worker')).toEqual(['DELETE', 'SELECT', 'UPDATE']);
    expect(JSON.parse(await runs('worker', ['outbox', 'status', '--json']))).toMatchObject({
      relay: { state: 'running' },
    });

    for (const [name, child] of Object.entries({ worker, server, metadata })) {
      const began = performance.now();
      child.kill('SIGTERM');
      expect({ name, code: await ended(child), said: '' }).toEqual({ name, code: 0, said: '' });
      const allowed = milliseconds(services[name]?.stop_grace_period ?? '10s');
      expect({ name, inTime: performance.now() - began < allowed }).toEqual({ name, inTime: true });
    }
    nats.kill('SIGTERM');
    await ended(nats);
  });

  /** Who has a connection to the application's database. */
  async function connectedRoles(): Promise<string[]> {
    const { rows } = await admin.query<{ role: string }>(
      `SELECT DISTINCT usename AS role FROM pg_stat_activity WHERE datname = 'diary' ORDER BY 1`,
    );
    return rows.map(({ role }) => role);
  }

  /** What a role may do with whole events; writing some columns of one is no part of it. */
  async function mayOnOutbox(role: string): Promise<string[]> {
    const owner = new Pool({ connectionString: `${postgresUrl.replace(/[^/]*$/, '')}diary`, max: 1 });
    owner.on('error', () => undefined);
    try {
      const { rows } = await owner.query<{ may: string }>(
        `SELECT may FROM unnest(ARRAY['DELETE', 'INSERT', 'SELECT', 'TRUNCATE', 'UPDATE']) AS may
          WHERE has_table_privilege($1, 'event_queue', may)`,
        [role],
      );
      return rows.map(({ may }) => may);
    } finally {
      await owner.end();
    }
  }

  /** By the configuration that is mounted into its container, with the password of its environment. */
  async function startNats(): Promise<ChildProcess> {
    const config = join(directory, 'nats.conf');
    const text = readFileSync(join(REPOSITORY, 'ops', 'compose', 'nats.conf'), 'utf8');
    writeFileSync(
      config,
      text
        .replace('0.0.0.0:4222', placeOf('nats:4222'))
        .replace('0.0.0.0:8222', placeOf('127.0.0.1:8222'))
        .replace('/data', join(data, 'nats')),
    );
    const env = { ...services.nats?.environment };
    const child = spawn(await findNats(() => undefined), ['--config', config], { env, stdio: 'ignore' });
    children.push(child);
    const health = here(services.nats?.healthcheck?.test.at(-1) ?? '');
    await eventually(async () => (await fetch(health)).ok, PATIENCE_MS, 'that NATS is healthy');
    await expect(connect({ servers: placeOf('nats:4222'), reconnect: false })).rejects.toThrow(/authorization/i);
    return child;
  }
});

async function put(url: string, body: object): Promise<void> {
  const answer = await fetch(url, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect({ status: answer.ok ? 'ok' : answer.status, text: answer.ok ? '' : await answer.text() }).toEqual({ status: 'ok', text: '' }); // prettier-ignore
}

/** What the image's psql does with `ops/compose/postgres.sql`, but for the database, which cannot be made in one go with a role. */
function databaseScript(secrets: Readonly<Record<string, string>>): string {
  const text = readFileSync(join(REPOSITORY, 'ops', 'compose', 'postgres.sql'), 'utf8');
  const variables = [...text.matchAll(/^\\getenv (\w+) (\w+)$/gm)];
  return variables
    .reduce(
      (all, [line, name, secret = '']) => all.replace(line, '').replace(`:'${name}'`, `'${secrets[secret]}'`),
      text,
    )
    .replace('CREATE DATABASE diary OWNER diary;', '');
}

function userOfTheImage(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  // Node may lie in a directory of root's own.
  return spawnSync('node', ['--version'], NODE_USER).status === 0 ? NODE_USER : undefined;
}
