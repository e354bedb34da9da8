import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { connectClient } from '../../src/temporal/client';
import { connectTemporal } from '../../src/temporal/connection';
import { Authority, type Certificate } from '../support/certificates';
import { testEnvironment } from '../support/environment';
import { enqueue, event } from '../support/events';
import { TestOutbox, type Settings } from '../support/outbox';
import { OwnServers } from '../support/ownServers';
import { runCli } from '../support/runCli';
import { TemporalGate } from '../support/temporalGate';

const KEY = 'S3CRET-key';

describe('Temporal that demands TLS and credentials', () => {
  const own = new OwnServers();
  const gates: TemporalGate[] = [];
  let authority: Authority;
  let stranger: Authority;
  let server: Certificate;
  let client: Certificate;
  let outbox: TestOutbox;

  beforeAll(async () => {
    authority = await Authority.create(own.directory);
    stranger = await Authority.create(own.directory, 'a stranger');
    server = await authority.issue('server');
    client = await authority.issue('client');
    outbox = await TestOutbox.create();
  });
  afterAll(async () => {
    await outbox?.close();
    await Promise.all(gates.map((gate) => gate.close()));
    await own.close();
  });

  async function gate(options: { certificate?: Certificate; mutual?: boolean; apiKey?: string } = {}) {
    const { cert, key } = options.certificate ?? server;
    const mutual = options.mutual ? { requestCert: true, rejectUnauthorized: true, ca: authority.ca } : {};
    const apiKey = options.apiKey === undefined ? {} : { apiKey: options.apiKey };
    const opened = await TemporalGate.open(testEnvironment().temporalAddress, { cert, key, ...mutual, ...apiKey });
    gates.push(opened);
    return opened.address;
  }

  const trusting = () => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: authority.caFile });
  const as = ({ certFile, keyFile }: Certificate) => ({
    TEMPORAL_TLS_CLIENT_CERT_PATH: certFile,
    TEMPORAL_TLS_CLIENT_KEY_PATH: keyFile,
  });

  it.each<[string, () => Promise<Settings>]>([
    ['mutual TLS', async () => ({ TEMPORAL_ADDRESS: await gate({ mutual: true }), ...trusting(), ...as(client) })],
    [
      'an API key over TLS',
      async () => ({ TEMPORAL_ADDRESS: await gate({ apiKey: KEY }), TEMPORAL_API_KEY: KEY, ...trusting() }),
    ],
  ])('a worker relays, and the command line asks it, with %s', async (_, settingsOf) => {
    const settings = await settingsOf();
    const worker = await outbox.spawnWorker(settings);
    await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    const status = await runCli(['status', '--json'], { ...outbox.settings, ...settings });
    expect((JSON.parse(status.stdout) as { relay: object }).relay).toMatchObject({ available: true });
    await worker.kill('SIGTERM');
    expect([...worker.logs, status.stdout, status.stderr].join('\n')).not.toContain('S3CRET');
  });

  const refusals: [what: string, settings: () => Promise<Settings>, says: RegExp][] = [
    [
      'a wrong API key',
      async () => ({ TEMPORAL_ADDRESS: await gate({ apiKey: KEY }), TEMPORAL_API_KEY: 'S3CRET-x', ...trusting() }),
      /refused the credentials: check TEMPORAL_API_KEY/,
    ],
    [
      'another authority',
      async () => ({ TEMPORAL_ADDRESS: await gate(), TEMPORAL_TLS_SERVER_CA_CERT_PATH: stranger.caFile }),
      /not signed by an authority that is trusted here\. Check TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
    ],
    [
      'no client certificate',
      async () => ({ TEMPORAL_ADDRESS: await gate({ mutual: true }), ...trusting() }),
      /demands (a|another) client certificate.*TEMPORAL_TLS_CLIENT_CERT_PATH/,
    ],
    [
      "a stranger's client certificate",
      async () => ({
        ...{ TEMPORAL_ADDRESS: await gate({ mutual: true }), ...trusting() },
        ...as(await stranger.issue('stranger')),
      }),
      /demands (a|another) client certificate.*TEMPORAL_TLS_CLIENT_CERT_PATH/,
    ],
    [
      'an expired certificate of the server',
      async () => ({
        ...{ TEMPORAL_ADDRESS: await gate({ certificate: await authority.issue('expired', { expired: true }) }) },
        ...trusting(),
      }),
      /its certificate has expired/,
    ],
    [
      'a certificate for another name',
      async () => ({
        ...{ TEMPORAL_ADDRESS: await gate({ certificate: await authority.issue('away', { host: 'away.example' }) }) },
        ...trusting(),
      }),
      /its certificate is for another name/,
    ],
    ['no TLS', async () => ({ TEMPORAL_ADDRESS: await gate() }), /speaks TLS only: set TEMPORAL_TLS=true/],
    [
      'a file that is not there',
      async () => ({ TEMPORAL_ADDRESS: await gate(), TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere/ca.pem' }),
      /settings cannot be read \(ENOENT: \/nowhere\/ca\.pem\)/,
    ],
  ];

  it.each(refusals)(
    '%s is told by worker and command line in one sentence that names the setting and no secret',
    async (_, settingsOf, says) => {
      const settings = await settingsOf();
      const before = { ...process.env };
      Object.assign(process.env, settings);
      try {
        const told = [
          connectTemporal(pino({ level: 'silent' }), AbortSignal.timeout(60_000)),
          connectClient({ env: settings, connectTimeoutMs: 2_000 }),
        ];
        const saysWhy = (attempt: Promise<unknown>) =>
          attempt.then(
            () => 'connected',
            (thrown: Error) => thrown.message,
          );
        // Both at once: the second may fail while the first is awaited.
        for (const message of await Promise.all(told.map(saysWhy))) {
          expect(message).toMatch(says);
          expect(message).not.toContain('S3CRET');
          expect(message.split('\n')).toHaveLength(1);
        }
      } finally {
        for (const name of Object.keys(settings)) delete process.env[name];
        Object.assign(process.env, before);
      }
    },
  );

  it('a configuration file that cannot be parsed is told without the line that could not be read', async () => {
    const file = join(own.directory, 'temporal.toml');
    writeFileSync(file, '[profile.default]\napi_key = "S3CRET\n');
    const failed = connectClient({ env: { TEMPORAL_CONFIG_FILE: file } });
    const error = await failed.then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error?.message).toMatch(/settings cannot be read .*TEMPORAL_CONFIG_FILE/);
    expect(error?.message).not.toContain('S3CRET');
  });
});
