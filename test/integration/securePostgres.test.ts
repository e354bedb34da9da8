import { join } from 'node:path';
import pino from 'pino';
import { connectDatabase } from '../../src/postgres/connect';
import { openDatabase } from '../../src/postgres/database';
import { Authority, type Certificate } from '../support/certificates';
import { event, enqueue } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { OwnServers } from '../support/ownServers';
import { runCli } from '../support/runCli';
import { PASSWORD, SecurePostgres } from '../support/securePostgres';

describe('PostgreSQL that demands TLS and credentials', () => {
  const servers = new OwnServers();
  let authority: Authority;
  let good: Certificate;
  let client: Certificate;
  let stranger: Authority;
  let postgres: SecurePostgres;
  let outbox: TestOutbox;

  beforeAll(async () => {
    const directory = join(servers.directory, 'certificates');
    authority = await Authority.create(directory);
    stranger = await Authority.create(directory, 'a stranger');
    good = await authority.issue('server');
    client = await authority.issue('by_certificate');
    postgres = await SecurePostgres.start(servers, authority, good);
    outbox = await TestOutbox.create();
  });
  afterEach(() => postgres.present(good));
  afterAll(async () => {
    await outbox?.close();
    await servers.close();
  });

  const byPassword = (more: Record<string, string> = {}) =>
    postgres.url(`by_password:${PASSWORD}`, { sslmode: 'verify-full', sslrootcert: authority.caFile, ...more });
  const byCertificate = (certificate: Certificate) =>
    postgres.url('by_certificate', {
      ...{ sslmode: 'verify-full', sslrootcert: authority.caFile },
      ...{ sslcert: certificate.certFile, sslkey: certificate.keyFile },
    });

  it.each([
    ['a password', () => byPassword()],
    ['a client certificate', () => byCertificate(client)],
  ])('a worker relays with %s, and each of its connections is encrypted, the listening one too', async (_, urlOf) => {
    const url = urlOf();
    const worker = await outbox.spawnWorker({ DATABASE_URL: url, OUTBOX_LOG_LEVEL: 'debug' });
    const db = openDatabase({ url, schema: outbox.database.schema, poolSize: 1 });
    try {
      await enqueue(db, [event()]);
      await eventually(async () => {
        const { rows } = await db.query(`SELECT FROM :schema.event_queue WHERE status <> 'done'`);
        return rows.length === 0;
      });
      await eventually(() => worker.logs.some((line) => line.includes('Listening for wake-ups')));
      const plain = await postgres.asSuperuser(
        `SELECT s.ssl, a.application_name FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
          WHERE a.application_name LIKE 'temporal-outbox%' ORDER BY 1`,
      );
      expect(new Set(plain.map((row) => row.ssl))).toEqual(new Set([true]));
      expect(plain.map((row) => row.application_name)).toContain('temporal-outbox listen');
    } finally {
      await worker.kill('SIGTERM');
      // The next database is another installation, which this relay would refuse.
      await outbox.relay().terminate('the next test has a database of its own');
      await db.query(`DROP SCHEMA :schema CASCADE`);
      await db.close();
    }
  });

  it.each<[what: string, url: () => Promise<string> | string, says: RegExp]>([
    ['a wrong password', () => byPassword().replace(PASSWORD, 'S3CRET-wrong'), /password authentication failed/],
    [
      'no password',
      () => postgres.url('by_password', { sslmode: 'verify-full', sslrootcert: authority.caFile }),
      /demands a password/,
    ],
    ['no TLS', () => postgres.url(`by_password:${PASSWORD}`, {}), /no encryption/],
    [
      'another authority',
      () => byPassword({ sslrootcert: stranger.caFile }),
      /not signed by an authority that is trusted here/,
    ],
    [
      'no authority',
      () => postgres.url(`by_password:${PASSWORD}`, { sslmode: 'require' }),
      /not signed by an authority that is trusted here/,
    ],
    [
      'a file that is not there',
      () => byPassword({ sslrootcert: '/nowhere/ca.pem' }),
      /names a file that cannot be read \(ENOENT\): \/nowhere\/ca\.pem/,
    ],
    [
      'a certificate of somebody else',
      async () => byCertificate(await authority.issue('somebody')),
      /certificate authentication failed/,
    ],
    [
      'a certificate that the server does not trust',
      async () => byCertificate(await stranger.issue('by_certificate')),
      /demands a client certificate that it trusts/,
    ],
    [
      'a key of another certificate',
      async () => byCertificate({ ...client, keyFile: (await authority.issue('other')).keyFile }),
      /certificate and key given cannot be used/,
    ],
    [
      'a server whose certificate has expired',
      async () => {
        await postgres.present(await authority.issue('expired', { expired: true }));
        return byPassword();
      },
      /its certificate has expired/,
    ],
    [
      'a server with a certificate for another name',
      async () => {
        await postgres.present(await authority.issue('elsewhere', { host: 'elsewhere.example' }));
        return byPassword();
      },
      /its certificate is for another name/,
    ],
  ])('%s ends the start with one sentence that names DATABASE_URL and no secret', async (_, urlOf, says) => {
    const url = await urlOf();
    const db = openDatabase({ url, schema: 'public', poolSize: 1 });
    try {
      const config = outbox.config({ DATABASE_URL: url });
      const logger = pino({ level: 'silent' });
      const start = connectDatabase(db, config, logger, AbortSignal.timeout(60_000));
      const error = await start.then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      expect(error?.message).toMatch(says);
      expect(error?.message).toContain('DATABASE_URL');
      expect(error?.message).not.toContain('S3CRET');
      expect(error?.message.split('\n')).toHaveLength(1);
    } finally {
      await db.close();
    }
  });

  it('a server without TLS is not used in the clear by whoever asks for TLS', async () => {
    const url = new URL(outbox.database.url);
    url.searchParams.set('sslmode', 'verify-full');
    const { code, stderr } = await runCli(['migrate', '--check'], { DATABASE_URL: url.toString() });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: PostgreSQL at .* does not offer TLS: check the server, or sslmode in DATABASE_URL\.$/m,
    );
  });

  it('a worker whose LISTEN connection is refused says so once, naming its setting, and relays by polling', async () => {
    const listen = byPassword().replace(PASSWORD, 'S3CRET-wrong');
    const worker = await outbox.startWorker({ OUTBOX_LISTEN_URL: listen });
    const told = () => worker.logs.filter(({ msg }) => String(msg).startsWith('No wake-ups'));
    await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    await eventually(() => told().length > 0);
    await worker.stop();
    expect(told()).toHaveLength(1);
    expect(told()[0]?.msg).toMatch(/password authentication failed.*Check OUTBOX_LISTEN_URL/);
    expect(JSON.stringify(worker.logs)).not.toContain('S3CRET');
  });

  it('a LISTEN URL that names a missing file does not end the worker', async () => {
    const worker = await outbox.startWorker({ OUTBOX_LISTEN_URL: byPassword({ sslrootcert: '/nowhere/ca.pem' }) });
    await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    await worker.stop();
    const told = worker.logs.filter(({ msg }) => String(msg).startsWith('No wake-ups'));
    expect(told.map(({ msg }) => msg)).toEqual([expect.stringMatching(/OUTBOX_LISTEN_URL names a file/)]);
  });
});
