import fc from 'fast-check';
import pino from 'pino';
import { connectClient, TemporalAwayError } from '../../src/temporal/client';
import { connectTemporal } from '../../src/temporal/connection';
import { installRuntime } from '../../src/temporal/runtime';
import { testEnvironment } from '../support/environment';

installRuntime(pino({ level: 'silent' }));

const LONG = process.env.OUTBOX_TEST_LONG === 'on';
const SECRET = 'S3CRET';
/** Where nothing listens, and what is no address. */
const SILENT = ['127.0.0.1:1', '[::1]:1'];
const NO_ADDRESS = ['127.0.0.1:99999', 'http://127.0.0.1:1', 'x y', '[::1', '%zz', ' '];

const place = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
  fc.constantFrom('true', 'false', 'ü', 'default'),
);
/** For the most part of a kind that is not refused for its characters alone. */
const secret = fc
  .oneof(
    { weight: 8, arbitrary: fc.string({ maxLength: 20 }) },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
    { weight: 2, arbitrary: fc.constantFrom('\n', 'ü', '\t', '-----BEGIN CERTIFICATE-----') },
  )
  .map((it) => SECRET + it + SECRET);
const PLACES = ['NAMESPACE', 'TLS', 'TLS_SERVER_NAME', 'TLS_DISABLE_HOST_VERIFICATION', 'TLS_CLIENT_CERT_PATH', 'PROFILE']; // prettier-ignore
const HIDDEN = ['API_KEY', 'TLS_CLIENT_CERT_DATA', 'TLS_CLIENT_KEY_DATA', 'TLS_SERVER_CA_CERT_DATA', 'GRPC_META_A', 'GRPC_META_B_C_D', 'GRPC_META_HOST']; // prettier-ignore
const entry = fc.oneof(
  fc.tuple(fc.constantFrom(...PLACES), place),
  fc.tuple(fc.constantFrom(...HIDDEN), secret),
  fc.tuple(
    fc.constant('ADDRESS'),
    fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...SILENT) }, fc.constantFrom(...NO_ADDRESS)),
  ),
  // Against the running server: what its client does with the rest is then seen.
  fc.constant(['TLS', 'false'] as const),
);
const PAIR = ['TEMPORAL_TLS_CLIENT_CERT_DATA', 'TEMPORAL_TLS_CLIENT_KEY_DATA'];
const environment = fc.tuple(fc.array(entry, { maxLength: 4 }), fc.nat(7)).map(([entries, half]) => {
  const made = Object.fromEntries(entries.map(([name, value]) => [`TEMPORAL_${name}`, value]));
  const whole = half > 0 && PAIR.some((name) => name in made);
  return { ...(whole && Object.fromEntries(PAIR.map((name) => [name, SECRET]))), ...made };
});
const withServer = (given: Record<string, string>) => ({
  TEMPORAL_ADDRESS: testEnvironment().temporalAddress,
  ...given,
});

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeAll(() => void process.on('unhandledRejection', note));
afterAll(() => {
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

it("a command connects, or says in one sentence which of Temporal's variables to look at, and no secret", async () => {
  await fc.assert(
    fc.asyncProperty(environment, async (given) => {
      try {
        const connected = await connectClient({ env: withServer(given), connectTimeoutMs: 400 });
        await connected.close();
        expect(hopelessIn(given)).toEqual([]);
      } catch (error) {
        isOneSentence(error);
        namesWhatIsHopeless(error, given);
        if (!(error instanceof TemporalAwayError)) expect((error as Error).message).toMatch(/^Temporal's settings /);
      }
    }),
    { numRuns: LONG ? 300 : 25 },
  );
});

it('a worker connects, or ends with such a sentence, or tries on until it is stopped, having said why it waits', async () => {
  const before = { ...process.env };
  await fc
    .assert(
      fc.asyncProperty(environment, async (given) => {
        for (const name of Object.keys(process.env)) if (name.startsWith('TEMPORAL_')) delete process.env[name];
        Object.assign(process.env, withServer(given));
        const lines: string[] = [];
        const logger = pino({ base: null }, { write: (line: string) => void lines.push(line) });
        try {
          const { connection } = await connectTemporal(logger, AbortSignal.timeout(700));
          await connection.close();
          expect(hopelessIn(given)).toEqual([]);
        } catch (error) {
          namesWhatIsHopeless(error, given);
          if ((error as Error).name === 'AbortError') expect(lines).toHaveLength(1);
          else isOneSentence(error);
        }
        expect(lines.join()).not.toContain(SECRET);
      }),
      { numRuns: LONG ? 200 : 20 },
    )
    .finally(() => {
      for (const name of Object.keys(process.env)) if (name.startsWith('TEMPORAL_')) delete process.env[name];
      Object.assign(process.env, before);
    });
});

it.each([
  ...NO_ADDRESS.map((address) => ['TEMPORAL_ADDRESS', address]),
  ['TEMPORAL_API_KEY', `${SECRET}ü`],
  ['TEMPORAL_GRPC_META_A', `${SECRET}\nb`],
  ['TEMPORAL_GRPC_META_B-BIN', SECRET],
])('neither tries %s as %j, which no waiting mends: both name it at once', async (name, value) => {
  const before = { ...process.env };
  const given = { [name]: value };
  Object.assign(process.env, withServer(given));
  try {
    const lines: string[] = [];
    const logger = pino({ base: null }, { write: (line: string) => void lines.push(line) });
    const thrownBy = (attempt: Promise<unknown>) =>
      attempt.then(
        () => 'connected',
        (thrown: unknown) => thrown,
      );
    const worker = thrownBy(connectTemporal(logger, AbortSignal.timeout(60_000)));
    const command = thrownBy(connectClient({ env: withServer(given) }));
    for (const error of [await worker, await command]) {
      isOneSentence(error);
      namesWhatIsHopeless(error, given);
    }
    expect(lines).toEqual([]);
  } finally {
    delete process.env[name];
    Object.assign(process.env, before);
  }
});

/** The variables that no client could use, whatever server answers. */
function hopelessIn(given: Record<string, string>): string[] {
  const isHopeless = ([name, value]: [string, string]) =>
    NO_ADDRESS.includes(value) || name.endsWith('-BIN') || (/API_KEY|GRPC_META/.test(name) && /[^ -~]/.test(value));
  return Object.entries(given).filter(isHopeless).map(([name]) => name); // prettier-ignore
}

function namesWhatIsHopeless(error: unknown, given: Record<string, string>): void {
  const [name] = hopelessIn(given);
  if (name === undefined) return;
  expect((error as Error).message).toMatch(/^Temporal's settings cannot be read /);
  if (Object.keys(given).length === 1) expect((error as Error).message).toContain(`: check ${name},`);
}

function isOneSentence(error: unknown): void {
  expect(error).toBeInstanceOf(Error);
  const { message } = error as Error;
  expect(message).toMatch(/TEMPORAL_(?:[A-Z]|…)/);
  expect(message).not.toMatch(/[\n\r]|^\s*at /m);
  expect(message).not.toContain(SECRET);
}
