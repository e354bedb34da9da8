import { Metadata } from '@grpc/grpc-js';
import fc from 'fast-check';
import { Client } from 'pg';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { natsLogin } from '../../src/broker/credentials';
import { settingsOf } from '../../src/cli/settings';
import { loadConfig, type Config, type Environment } from '../../src/config';
import { consumerTimingsOf } from '../../src/consumer/timings';
import { ConfigError } from '../../src/errors';
import { parseMetricsAddress } from '../../src/telemetry/address';
import { readTemporalSettings } from '../../src/temporal/settings';
import { readJoin } from '../../src/workflows/consumerJoin';

const VARIABLES = settingsOf(loadConfig({}), {})
  .map(({ variable }) => variable)
  .filter((variable) => !variable.startsWith('TEMPORAL_'));
/** An environment holds no NUL. */
const text = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', ' ', '0', '-1', '1e9', '0x10', 'Infinity', 'NaN', '1.5', 'on', 'never', 'A=1d,,B', '__proto__=1d', '/', '127.0.0.1:0', '[::1]:9-5', ':99999', 'x'.repeat(5_000)), // prettier-ignore
    fc.integer().map(String),
  )
  .map((it) => it.replaceAll('\0', ''));
const misspelled = fc.stringMatching(/^OUTBOX_[A-Z]{1,8}$/);
const environment = fc.dictionary(fc.oneof(fc.constantFrom(...VARIABLES), misspelled, fc.constant('__proto__')), text, {
  maxKeys: 8,
});

/** Marked, so that a trace of it can be found in whatever is said. */
const secret = fc
  .oneof(fc.stringMatching(/^[\w,/?#@:%&=! ~-]{1,20}$/), fc.constantFrom('%zz', '%', 'ü', '@', '%E0%A4%A'))
  .map((it) => `S3CRET${it}S3CRET`);
const secrets = fc.record(
  {
    DATABASE_URL: fc.tuple(fc.constantFrom('postgres', 'mysql', 'postgresql'), secret).map(([scheme, password]) => `${scheme}://user:${password}@host.example:5432/db`), // prettier-ignore
    OUTBOX_LISTEN_URL: secret.map((password) => `postgres://user:${password}@[host/db`),
    NATS_URL: secret.map((password) => `nats://user:${password}@host.example,nats://${password}@other.example`),
    NATS_PASSWORD: secret,
    NATS_TOKEN: secret,
    NATS_USER: fc.constant('user'),
    NATS_CREDS: fc.constant('/absent.creds'),
  },
  { requiredKeys: [] },
);

/** @returns what is said of an environment: its problems, or its settings as `outbox config` shows them */
function saidOf(env: Environment): { problems?: readonly string[]; shown: string } {
  try {
    return { shown: JSON.stringify(settingsOf(loadConfig(env), env)) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problems: error.problems, shown: error.message };
  }
}

test('any environment is read, or refused with problems that each begin with the variable', () => {
  fc.assert(
    fc.property(environment, (env) => {
      const { problems } = saidOf(env);
      if (problems === undefined) return;
      expect(problems.length).toBeGreaterThan(0);
      for (const problem of problems) {
        const [, names = ''] = /^([A-Z_, ]+): \S/.exec(problem) ?? [];
        expect([problem, names.split(', ').filter((name) => name in env)]).toEqual([problem, expect.arrayContaining([expect.any(String)])]); // prettier-ignore
      }
    }),
    { numRuns: 2_000 },
  );
});

/** What a variable may hold, as whoever gives something else is told. */
const TOLD = /^(\w+): must be a whole number(?: of milliseconds)? from (\d+) to (\d+)$/;
const RANGES = new Map(
  VARIABLES.flatMap((variable) => saidOf({ [variable]: 'none' }).problems ?? []).flatMap((problem) => {
    const [, variable, min, max] = TOLD.exec(problem) ?? [];
    return variable ? [[variable, { min: Number(min), max: Number(max) }] as const] : [];
  }),
);
const near = fc.oneof(
  fc.integer({ min: 0, max: 100_000 }).map(String),
  fc.constantFrom('1', '100', '2000', '50000', '2147483647', '2147483648', '3153600000000', '3153600000001', '9e15', '1e3', '0x7d0', ' 3000 ', '3000.0', '-0', '+5', '1_000', '٣'), // prettier-ignore
);
const urls = fc.constantFrom('postgres://u:p%25@h:5432/db', 'postgresql://[::1]/db', 'postgres://h', 'nats://a, b:4222,tls://c', 'a,,b', 'nats://u:p@h', 'h:0', ',', ' ', 'nats://', '///', 'nats://u@', 'postgres://h?port=abc', 'postgres:///db?host=/run&port=70000'); // prettier-ignore
const usable = fc.dictionary(fc.constantFrom(...VARIABLES), fc.oneof({ weight: 6, arbitrary: near }, urls, text), {
  maxKeys: 4,
});

function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}

test('an environment that is accepted is one that all parts can work with', () => {
  let accepted = 0;
  expect(RANGES.size).toBeGreaterThan(30);
  fc.assert(
    fc.property(usable, (env) => {
      let config: Config;
      try {
        config = loadConfig(env);
      } catch {
        return;
      }
      accepted++;
      const numbers = numbersIn(config);
      expect(numbers.filter((each) => !Number.isSafeInteger(each) || each < 0)).toEqual([]);
      const wrong = settingsOf(config, env).filter(({ variable, value }) => {
        const range = RANGES.get(variable);
        const given = env[variable] ? Number(env[variable]) : value;
        return range && !(value === given && range.min <= Number(value) && Number(value) <= range.max);
      });
      expect(wrong).toEqual([]);
      expect(config.schema).toMatch(/^[a-z_][a-z0-9_]{0,62}$/);
      const { stream, subjectPrefix, durable } = config.nats;
      for (const name of [stream, subjectPrefix, durable]) expect(name).toMatch(/^[\w-]+$/);
      for (const url of [config.databaseUrl, config.listenUrl])
        expect(new URL(url).protocol).toMatch(/^postgres(ql)?:$/);
      const servers = serversOf(config);
      expect(servers).not.toEqual([]);
      for (const server of servers ?? [])
        expect([server, URL.canParse(server) && new URL(server).hostname !== '']).toEqual([server, true]);
      for (const url of [config.databaseUrl, config.listenUrl]) {
        const { port } = new Client({ connectionString: url });
        expect([url, port > 0 && port < 65_536]).toEqual([url, true]);
      }
      expect(config.metricsAddress === 'off' || parseMetricsAddress(config.metricsAddress)).toBeTruthy();
      // A worker whose timings the consumer does not take would never receive.
      expect(readJoin({ queue: 'outbox/worker', timings: consumerTimingsOf(config) })).toBeDefined();
    }),
    { numRuns: 1_500 },
  );
  expect(accepted).toBeGreaterThan(150);
});

test('a task queue that is accepted is one by which a worker can receive', () => {
  const queue = fc.oneof(text, fc.constantFrom('/orders', 'a/', 'orders/', '\u2028', '\t', '\u0085', 'a'), fc.string({ unit: fc.constantFrom('a', '/', '\n', '\u2029', '🎬', '\u0001') })); // prettier-ignore
  fc.assert(
    fc.property(queue, (given) => {
      let config: Config;
      try {
        config = loadConfig({ OUTBOX_TASK_QUEUE: given });
      } catch {
        return;
      }
      const own = `${config.taskQueue}/${'h'.repeat(64)}-4194304-0123abcd`;
      expect(readJoin({ queue: own, timings: consumerTimingsOf(config) })).toBeDefined();
    }),
    { numRuns: 2_000 },
  );
});

/** None when a file that it names cannot be used, which is said when the connection is made. */
function serversOf({ nats }: Config): string[] | undefined {
  try {
    return [natsLogin(nats).servers ?? []].flat();
  } catch (error) {
    expect((error as Error).message).toMatch(/^NATS_[A-Z]+: \S/);
    return undefined;
  }
}

test('no secret is in what is said of an environment, whether it is read or refused', () => {
  fc.assert(
    fc.property(secrets, environment, (given, others) => {
      expect(saidOf({ ...others, ...given }).shown).not.toContain('S3CRET');
    }),
    { numRuns: 2_000 },
  );
});

test('an address that was read is one for the clients of PostgreSQL and NATS too', () => {
  fc.assert(
    fc.property(secrets, (given) => {
      let config;
      try {
        config = loadConfig(given);
      } catch {
        return;
      }
      for (const url of [config.databaseUrl, config.listenUrl])
        expect(new Client({ connectionString: url }).host).toBe(new URL(url).hostname);
      natsLogin(config.nats);
    }),
    { numRuns: 1_000 },
  );
});

describe("Temporal's own variables", () => {
  const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-any-'));
  const file = join(directory, 'temporal.toml');
  afterAll(() => rmSync(directory, { recursive: true }));

  const place = fc.oneof(text, fc.constantFrom('h:7233', 'http://h:7233', 'h:99999', '[::1', 'h\u0007\u2028:1', 'true', 'false', file, directory, '/absent')); // prettier-ignore
  const PLACES = ['ADDRESS', 'NAMESPACE', 'PROFILE', 'CONFIG_FILE', 'TLS', 'TLS_SERVER_NAME', 'TLS_DISABLE_HOST_VERIFICATION', 'TLS_CLIENT_CERT_PATH', 'TLS_CLIENT_KEY_PATH', 'TLS_SERVER_CA_CERT_PATH']; // prettier-ignore
  const HIDDEN = ['API_KEY', 'TLS_CLIENT_CERT_DATA', 'TLS_CLIENT_KEY_DATA', 'TLS_SERVER_CA_CERT_DATA', 'GRPC_META_A', 'GRPC_META_', 'GRPC_META_x-bin']; // prettier-ignore
  const entries = [...PLACES.map((name) => [name, place] as const), ...HIDDEN.map((name) => [name, secret] as const)];
  const variables = fc
    .tuple(
      fc.record(Object.fromEntries(entries.map(([name, value]) => [`TEMPORAL_${name}`, value])), { requiredKeys: [] }),
      fc.subarray(
        entries.map(([name]) => `TEMPORAL_${name}`),
        { maxLength: 5 },
      ),
    )
    .map(([all, chosen]) => Object.fromEntries(Object.entries(all).filter(([name]) => chosen.includes(name))));
  const RIGHT = `# S3CRET\n[profile.default]\naddress = "h:7233"\napi_key = "S3CRET"\n[profile.default.tls]\nclient_cert_data = "S3CRET"\nclient_key_data = """\nS3CRET\n"""\n[profile.default.grpc_meta]\na = "S3CRET"\n`; // prettier-ignore
  const written = fc
    .tuple(fc.nat(RIGHT.length), fc.nat(20), fc.oneof(text, fc.constantFrom('"', '[', '\n', '=', '\\', '5', "'")))
    .map(([at, without, put]) => RIGHT.slice(0, at) + put + RIGHT.slice(at + without));

  test('are read, or refused in one sentence that names them and no secret, whatever they and their file hold', () => {
    const seen = { read: 0, refused: 0 };
    fc.assert(
      fc.property(variables, written, (given, content) => {
        writeFileSync(file, content);
        const env = { ...given, ...(given.TEMPORAL_CONFIG_FILE === undefined && { TEMPORAL_CONFIG_FILE: file }) };
        try {
          const { address, namespace, connectionOptions } = readTemporalSettings(env);
          seen.read++;
          isUsable(address, { ...connectionOptions.metadata, authorization: connectionOptions.apiKey });
          expect(namespace).not.toBe('');
        } catch (error) {
          if (!(error as Error).message.startsWith("Temporal's settings ")) throw error;
          seen.refused++;
          const { message, cause, stack } = error as Error;
          expect(message).toMatch(/^Temporal's settings cannot be read \(.+\): check (the )?TEMPORAL_[\w… -]+, .+\.$/);
          expect(message).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
          expect([cause, `${message} ${stack}`.includes('S3CRET')]).toEqual([undefined, false]);
        }
      }),
      { numRuns: 1_500 },
    );
    expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(100);
  });

  /** As the clients of Temporal demand it, which try what they cannot use for ever or without a word of the reason. */
  function isUsable(address: string, metadata: Readonly<Record<string, unknown>>): void {
    const [, host = '', port = '7233'] = /^(\[[0-9a-f:.]+\]|[^\s\p{Cc}:/?#@[\]]+)(?::(\d+))?$/iu.exec(address) ?? [];
    expect([address, URL.canParse(`tcp://${host}`) && Number(port) > 0 && Number(port) < 65_536]).toEqual([
      address,
      true,
    ]);
    for (const [name, value] of Object.entries(metadata)) {
      if (value === undefined) continue;
      expect(() => new Metadata().set(name, value as string)).not.toThrow();
    }
  }

  const NONE = { TEMPORAL_CONFIG_FILE: '/absent' };
  const hopeless: [variable: string, given: Record<string, string>][] = [
    ...['http://h:7233', 'h:99999', 'h:0', 'h:', ':7233', ' ', 'x y', '[::1', '[x]:1', '::1', 'h/p', 'u:S3CRET@h:1', 'a\u0007b', 'a\u009b2Jb', 'h\n'].map(
      (address): [string, Record<string, string>] => ['TEMPORAL_ADDRESS', { TEMPORAL_ADDRESS: address }],
    ),
    ['TEMPORAL_API_KEY', { TEMPORAL_API_KEY: 'S3CRETü' }],
    ['TEMPORAL_API_KEY', { TEMPORAL_API_KEY: 'S3CRET\n' }],
    ['TEMPORAL_GRPC_META_A', { TEMPORAL_GRPC_META_A: 'S3CRET\nb' }],
    ['TEMPORAL_GRPC_META_A_B_C', { TEMPORAL_GRPC_META_A_B_C: 'ü' }],
    ['TEMPORAL_GRPC_META_', { TEMPORAL_GRPC_META_: 'a' }],
    ['TEMPORAL_GRPC_META_A-BIN', { 'TEMPORAL_GRPC_META_A-BIN': 'a' }],
    ['TEMPORAL_TLS_CLIENT_KEY_DATA', { TEMPORAL_TLS_CLIENT_CERT_DATA: 'S3CRET' }],
    ['TEMPORAL_TLS_CLIENT_CERT_DATA', { TEMPORAL_TLS_CLIENT_KEY_DATA: 'S3CRET' }],
    ['TEMPORAL_TLS_CLIENT_CERT_PATH', { TEMPORAL_TLS_CLIENT_CERT_PATH: directory, TEMPORAL_TLS_CLIENT_KEY_DATA: 'S3CRET' }],
    ['TEMPORAL_TLS_SERVER_CA_CERT_PATH', { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/absent/S' }],
    ['TEMPORAL_CONFIG_FILE', { TEMPORAL_CONFIG_FILE: directory }],
  ]; // prettier-ignore
  test.each(hopeless)('which no waiting mends are refused with %s named: %j', (variable, given) => {
    let message = 'read';
    try {
      readTemporalSettings({ ...NONE, ...given });
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toMatch(new RegExp(`^Temporal's settings cannot be read .*\\b${variable}(?![A-Z_])`));
    expect(message).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]|S3CRET/u);
  });

  test.each(['h', 'h:7233', '127.0.0.1:7233', '[::1]', '[fe80::1]:7233', 'a-b_c.example.:65535', 'ü.example:1'])(
    'the address %s is one',
    (address) => expect(readTemporalSettings({ ...NONE, TEMPORAL_ADDRESS: address }).address).toBe(address),
  );

  test('an empty variable of Temporal counts as not given', () => {
    expect(
      readTemporalSettings({ ...NONE, TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: '', TEMPORAL_API_KEY: '' }),
    ).toMatchObject({ address: '127.0.0.1:7233', namespace: 'default', connectionOptions: {} });
  });

  test('a client certificate without its key is no fault where TLS is off', () => {
    const off = { ...NONE, TEMPORAL_TLS: 'false', TEMPORAL_TLS_CLIENT_CERT_DATA: 'x' };
    expect(readTemporalSettings(off).connectionOptions).toEqual({ tls: false });
  });
});
