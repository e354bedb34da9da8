import { writeFileSync } from 'node:fs';
import { connect as dial } from 'node:net';
import { join } from 'node:path';
import { connect, nkeys } from 'nats';
import { defineHandler } from '../../src/handlers/defineHandler';
import { findNats } from '../../src/servers/findBinaries';
import { freePort } from '../../src/servers/ports';
import { StartedServer } from '../../src/servers/startedServer';
import { Authority, type Certificate } from '../support/certificates';
import { event, enqueue } from '../support/events';
import { eventually } from '../support/eventually';
import { natsAccount, type NatsAccount } from '../support/natsAccount';
import { TestOutbox, type Settings } from '../support/outbox';
import { OwnServers } from '../support/ownServers';

const PASSWORD = 'S3CRET-password';
const TOKEN = 'S3CRET-token';

describe('NATS that demands TLS and credentials', () => {
  const own = new OwnServers();
  let authority: Authority;
  let server: Certificate;
  let client: Settings;
  let account: NatsAccount;
  let outbox: TestOutbox;
  const seed = nkeys.createUser();
  const running: StartedServer[] = [];

  beforeAll(async () => {
    authority = await Authority.create(own.directory);
    server = await authority.issue('server');
    const { certFile, keyFile } = await authority.issue('client');
    client = { NATS_TLS_CA: authority.caFile, NATS_TLS_CERT: certFile, NATS_TLS_KEY: keyFile };
    account = natsAccount();
    writeFileSync(join(own.directory, 'user.creds'), account.userCreds());
    writeFileSync(join(own.directory, 'seed.nk'), `# of the worker\n${new TextDecoder().decode(seed.getSeed())}\n`);
    outbox = await TestOutbox.create();
  });
  afterEach(() => Promise.all(running.splice(0).map((each) => each.stop())));
  afterAll(async () => {
    await outbox?.close();
    await own.close();
  });

  const tls = (certificate: Certificate, verify = false) =>
    `tls { cert_file: "${certificate.certFile}", key_file: "${certificate.keyFile}", ca_file: "${authority.caFile}", verify: ${verify} }`;
  const mutualTls = () => tls(server, true);
  const file = (name: string) => join(own.directory, name);

  async function nats(config: string): Promise<string> {
    const port = await freePort();
    const directory = join(own.directory, String(port));
    const configFile = `${directory}.conf`;
    writeFileSync(configFile, config);
    const binary = await findNats(() => undefined);
    const started = new StartedServer({
      ...{ name: 'NATS', id: 'nats', directory, dataDirectory: directory, url: `nats://localhost:${port}` },
      stopSignal: 'SIGTERM',
      log: () => undefined,
      prepare: () => Promise.resolve(),
      command: () => ({
        file: binary,
        args: ['-c', configFile, '-js', '-sd', directory, '-a', '127.0.0.1', '-p', String(port)],
      }),
      ready: async () => {
        const socket = dial(port, '127.0.0.1');
        await new Promise((resolve, reject) => socket.once('data', resolve).once('error', reject));
        socket.destroy();
      },
    });
    running.push(started);
    await started.start();
    return started.url;
  }

  it.each<[how: string, config: () => string, settings: () => Settings, urlOf?: (url: string) => string]>([
    [
      'TLS with a client certificate, user and password',
      () => `${mutualTls()}\nauthorization { user: outbox, password: "${PASSWORD}" }`,
      () => ({ ...client, NATS_USER: 'outbox', NATS_PASSWORD: PASSWORD }),
    ],
    [
      'TLS with an nkey',
      () => `${tls(server)}\nauthorization { users: [{ nkey: ${seed.getPublicKey()} }] }`,
      () => ({ NATS_TLS_CA: authority.caFile, NATS_NKEY: file('seed.nk') }),
    ],
    [
      'TLS with a creds file',
      () => `${tls(server)}\n${account.serverConfig()}`,
      () => ({ NATS_TLS_CA: authority.caFile, NATS_CREDS: file('user.creds') }),
    ],
    ['a token', () => `authorization { token: "${TOKEN}" }`, () => ({ NATS_TOKEN: TOKEN })],
    [
      'user and password in the URL',
      () => `authorization { user: outbox, password: "${PASSWORD}" }`,
      () => ({}),
      (url) => url.replace('nats://', `nats://outbox:${PASSWORD}@`),
    ],
  ])('a worker publishes and receives over a connection with %s', async (_, config, settings, urlOf = (url) => url) => {
    const url = await nats(config());
    const handled: string[] = [];
    const worker = await outbox.startWorker(
      { NATS_URL: urlOf(url), ...settings() },
      {
        handlers: [
          defineHandler({ name: 'note', events: ['ThingHappened'], run: (e) => void handled.push(e.eventId) }),
        ],
      },
    );
    const [id] = await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    await eventually(() => handled.includes(id ?? ''));
    await worker.stop();
    expect(JSON.stringify(worker.logs)).not.toContain('S3CRET');
  });

  it.each<
    [what: string, config: () => Promise<string> | string, settings: () => Promise<Settings> | Settings, says: RegExp]
  >([
    [
      'a wrong password',
      () => `authorization { user: outbox, password: "${PASSWORD}" }`,
      () => ({ NATS_USER: 'outbox', NATS_PASSWORD: 'S3CRET-x' }),
      /refused the credentials: check NATS_USER and NATS_PASSWORD/,
    ],
    [
      'a wrong token',
      () => `authorization { token: "${TOKEN}" }`,
      () => ({ NATS_TOKEN: 'S3CRET-x' }),
      /refused the credentials: check NATS_TOKEN/,
    ],
    [
      'no credentials',
      () => `authorization { token: "${TOKEN}" }`,
      () => ({}),
      /refused the credentials: check NATS_CREDS, .* of which none is set/,
    ],
    [
      'credentials of another account',
      () => account.serverConfig(),
      () => {
        writeFileSync(file('other.creds'), natsAccount().userCreds());
        return { NATS_CREDS: file('other.creds') };
      },
      /refused the credentials: check NATS_CREDS/,
    ],
    [
      'credentials that have expired',
      () => account.serverConfig(),
      () => {
        writeFileSync(file('old.creds'), account.userCreds({ expiredSeconds: 60 }));
        return { NATS_CREDS: file('old.creds') };
      },
      /(refused the credentials|have expired).*NATS_CREDS/,
    ],
    [
      'a creds file that is none',
      () => '',
      () => {
        writeFileSync(file('none.creds'), 'S3CRET-junk');
        return { NATS_CREDS: file('none.creds') };
      },
      /NATS_CREDS: .*none\.creds holds no credentials/,
    ],
    [
      'a seed that is none',
      () => '',
      () => {
        writeFileSync(file('none.nk'), 'S3CRET-junk');
        return { NATS_NKEY: file('none.nk') };
      },
      /NATS_NKEY: .*none\.nk holds no seed/,
    ],
    [
      'another authority',
      () => tls(server),
      async () => ({ NATS_TLS_CA: (await Authority.create(own.directory, 'a stranger')).caFile }),
      /not signed by an authority that is trusted here.*NATS_TLS_CA/,
    ],
    ['no authority', () => tls(server), () => ({}), /not signed by an authority that is trusted here.*NATS_TLS_CA/],
    [
      'an expired certificate of the server',
      async () => tls(await authority.issue('expired', { expired: true })),
      () => client,
      /its certificate has expired/,
    ],
    [
      'a certificate for another name',
      async () => tls(await authority.issue('elsewhere', { host: 'elsewhere.example' })),
      () => client,
      /its certificate is for another name/,
    ],
    [
      'a key of another certificate',
      () => tls(server),
      async () => ({ ...client, NATS_TLS_KEY: (await authority.issue('other')).keyFile }),
      /certificate and key given cannot be used/,
    ],
    ['a server without TLS', () => '', () => ({ NATS_TLS_CA: authority.caFile }), /does not offer TLS/],
  ])('%s ends the start with one sentence that names the setting and no secret', async (_, config, settings, says) => {
    const url = await nats(await config());
    const failed = outbox.startWorker({ NATS_URL: url, ...(await settings()) });
    const error = await failed.then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error?.message).toMatch(says);
    expect(error?.message).not.toContain('S3CRET');
    expect(error?.message.split('\n')).toHaveLength(1);
  });

  it.each([
    ['no client certificate', () => Promise.resolve({})],
    [
      'the client certificate of a stranger',
      async () => {
        const { certFile, keyFile } = await (await Authority.create(own.directory, 'no friend')).issue('stranger');
        return { NATS_TLS_CERT: certFile, NATS_TLS_KEY: keyFile };
      },
    ],
  ])('%s is told with the settings, whether the server says why or only hangs up', async (_, settings) => {
    const url = await nats(mutualTls());
    const starting = outbox.startWorker({ NATS_URL: url, NATS_TLS_CA: authority.caFile, ...(await settings()) });
    const said = await starting.then(
      async (worker) => {
        await worker.stop();
        return worker.logs.map(({ msg }) => String(msg)).join('\n');
      },
      (thrown: Error) => thrown.message,
    );
    expect(said).toMatch(/demands? (a|another) client certificate.*NATS_TLS_CERT/);
  });

  it('tls:// in NATS_URL is not talked out of TLS by a server that offers none', async () => {
    const url = (await nats('')).replace('nats://', 'tls://');
    await expect(outbox.startWorker({ NATS_URL: url })).rejects.toThrow(/does not offer TLS/);
  });

  it('credentials that are renewed in their file count at the next connection', async () => {
    const url = await nats(account.serverConfig());
    writeFileSync(file('renewed.creds'), account.userCreds({ lastsSeconds: 5 }));
    const worker = await outbox.startWorker({ NATS_URL: url, NATS_CREDS: file('renewed.creds') });
    writeFileSync(file('renewed.creds'), account.userCreds());
    await eventually(() => worker.logs.some(({ msg }) => /answers again/.test(String(msg))));
    await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    await worker.stop();
    const probe = connect({ servers: url, reconnect: false });
    await expect(probe).rejects.toThrow();
  });
});
