import fc from 'fast-check';
import { Client } from 'pg';
import { settingsOf } from '../../src/cli/settings';
import { loadConfig, type Environment } from '../../src/config';
import { ConfigError } from '../../src/errors';
import { natsLogin } from '../../src/broker/credentials';

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
