import { loadConfig } from '../../src/config';
import { ConfigError } from '../../src/errors';

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems;
  }
  return [];
}

describe('loadConfig', () => {
  it('needs no variable at all', () => {
    expect(loadConfig({})).toMatchObject({
      schema: 'public',
      backend: 'nats',
      maxAttempts: 10,
      maxPayloadBytes: 1_032_192,
      taskQueue: 'outbox',
      relayWorkflowId: 'outbox-relay',
      nats: { stream: 'EVENTS', subjectPrefix: 'events', mode: 'jetstream', duplicateWindowMs: 3_600_000 },
      relay: { batchSize: 4_000, batchBytes: 4_194_304, sliceMs: 2_000, longPollMs: 60_000, leaseMs: 600_000 },
      handling: {
        ...{ concurrency: 8, leaseMs: 30_000, renewMs: 10_000, maxLeaseMs: 1_800_000, retentionMs: 30 * 86_400_000 },
        ...{ missingHandlerMs: 60_000, newerVersionMs: 300_000, runStartsPerSecond: 100 },
      },
    });
  });

  it.each(['/orders', 'orders', 'https://a.example:8443/b?c=d#e', 'urn:example:orders', '//host/a', '/a%20b', '?q'])(
    'takes the CloudEvents source %s, a URI reference',
    (source) => expect(loadConfig({ OUTBOX_CLOUDEVENTS_SOURCE: source }).nats.cloudEventsSource).toBe(source),
  );

  it.each(['a b', '/ü', '1:2', ':a', '/a#b#c', '/50%', '"x"', 'urn:', `/${'x'.repeat(256)}`])(
    'refuses the CloudEvents source %s',
    (source) =>
      expect(problemsOf({ OUTBOX_CLOUDEVENTS_SOURCE: source })).toEqual([
        expect.stringMatching(/^OUTBOX_CLOUDEVENTS_SOURCE: must /),
      ]),
  );

  it('names the schema as the CloudEvents source by default', () => {
    expect(loadConfig({ OUTBOX_SCHEMA: 'shop' }).nats.cloudEventsSource).toBe('/outbox/shop');
  });

  it('names every problem at once, each with its variable', () => {
    const problems = problemsOf({
      OUTBOX_BATCH_SIZE: 'many',
      OUTBOX_SLICE_MS: '0',
      OUTBOX_LEASE_MS: '1.5',
      OUTBOX_POLL_MS: '-1',
      NATS_MODE: 'carrier pigeon',
      EVENT_BUS_BACKEND: 'kafka',
      OUTBOX_STREAM: 'a.b',
      OUTBOX_SUBJECT_PREFIX: '>',
      OUTBOX_NOTIFY: 'maybe',
      OUTBOX_SCHEMA: 'My-Schema',
      OUTBOX_BATCHSIZE: '5',
      OUTBOX_CLOUDEVENTS_SOURCE: 'our orders',
    });
    const variables = problems.map((problem) => problem.split(':')[0]);
    expect(new Set(variables)).toEqual(
      new Set([
        'OUTBOX_BATCH_SIZE',
        'OUTBOX_SLICE_MS',
        'OUTBOX_LEASE_MS',
        'OUTBOX_POLL_MS',
        'NATS_MODE',
        'EVENT_BUS_BACKEND',
        'OUTBOX_STREAM',
        'OUTBOX_SUBJECT_PREFIX',
        'OUTBOX_NOTIFY',
        'OUTBOX_SCHEMA',
        'OUTBOX_BATCHSIZE',
        'OUTBOX_CLOUDEVENTS_SOURCE',
      ]),
    );
    expect(variables).toHaveLength(12);
  });

  it('reads how long rows are kept, and names each age that cannot be read', () => {
    expect(loadConfig({}).retention).toEqual({
      ...{ doneMs: 7 * 86_400_000, byType: {}, skippedMs: null, deadMs: null, everyMs: 3_600_000 },
    });
    const byType = 'OrderPlaced=90d, Clicked=36h,ContractSigned=never,constructor=1500ms';
    expect(
      loadConfig({ OUTBOX_RETENTION_OVERRIDES: byType, OUTBOX_DONE_RETENTION_MS: 'never' }).retention,
    ).toMatchObject({
      ...{
        doneMs: null,
        byType: { OrderPlaced: 90 * 86_400_000, Clicked: 36 * 3_600_000, ContractSigned: null, constructor: 1_500 },
      },
    });
    expect(
      problemsOf({
        OUTBOX_DEAD_RETENTION_MS: '999',
        OUTBOX_SKIPPED_RETENTION_MS: '90d',
        OUTBOX_RETENTION_OVERRIDES: 'A=90,B=1d,B=2d,a b=1d,C,D=40000d',
      }),
    ).toEqual([
      expect.stringMatching(
        /^OUTBOX_RETENTION_OVERRIDES: the age of A must be never, or an age such as 90d.*not "90"$/,
      ),
      expect.stringMatching(/^OUTBOX_RETENTION_OVERRIDES: B stands in it twice$/),
      expect.stringMatching(/^OUTBOX_RETENTION_OVERRIDES: "a b=1d" is not <event type>=<age>/),
      expect.stringMatching(/^OUTBOX_RETENTION_OVERRIDES: the age of C /),
      expect.stringMatching(/^OUTBOX_RETENTION_OVERRIDES: the age of D /),
      expect.stringMatching(/^OUTBOX_SKIPPED_RETENTION_MS: must be `never`, or a whole number of milliseconds/),
      expect.stringMatching(/^OUTBOX_DEAD_RETENTION_MS: must be `never`/),
    ]);
  });

  it('says in its message how many problems there are, and each of them', () => {
    expect(() => loadConfig({ OUTBOX_POLL_MS: 'x', NATS_MODE: 'x' })).toThrow(/2 problems[^]*NATS_MODE[^]*OUTBOX_POLL_MS|2 problems[^]*OUTBOX_POLL_MS[^]*NATS_MODE/);
    expect(() => loadConfig({ NATS_MODE: 'x' })).toThrow(/a problem/);
  }); // prettier-ignore

  it.each([
    ['5000', undefined, 1_666],
    ['60000', undefined, 10_000],
    ['60000', '20000', 20_000],
  ])('renews a lease of %s ms, with the renewal given as %s, each %i ms', (lease, renew, every) => {
    const env = { OUTBOX_LEDGER_LEASE_MS: lease, ...(renew && { OUTBOX_LEDGER_RENEW_MS: renew }) };
    expect(loadConfig(env).handling.renewMs).toBe(every);
  });

  it('refuses a renewal of more than a third of the lease, with which slow handlers would be cut off', () => {
    expect(problemsOf({ OUTBOX_LEDGER_LEASE_MS: '10000', OUTBOX_LEDGER_RENEW_MS: '5000' })).toEqual([
      'OUTBOX_LEDGER_RENEW_MS: must be at most 3333, a third of OUTBOX_LEDGER_LEASE_MS (10000)',
    ]);
  });

  // Found by `npm run torture -- --seed 208 --minutes 30 --backend nats --rate 6` on a machine with a load of 60: 3,658
  // events, more than a second of CPU, were not replayed within 10 s by any worker, and the relay stood still. With
  // --seed 202 --backend nats and a load of 55 the consumer did with 760 events.
  it('rolls relay and consumer over before their history takes long to replay, whatever the server suggests', () => {
    const { rollOverEvents } = loadConfig({}).relay;
    expect(rollOverEvents).toBeGreaterThan(0);
    expect(rollOverEvents).toBeLessThanOrEqual(250);
  });

  it('names a misspelled OUTBOX_ variable, which would otherwise leave the default in force', () => {
    expect(problemsOf({ OUTBOX_SLICE: '100' })).toEqual([expect.stringMatching(/^OUTBOX_SLICE: no such setting/)]);
  });

  it('leaves the variables of others alone', () => {
    expect(problemsOf({ OUTBOXY: '1', TEMPORAL_NAMESPACE: 'x', PATH: '/bin' })).toEqual([]);
  });

  it('refuses an empty schema, and takes any other empty variable as not given', () => {
    expect(problemsOf({ OUTBOX_SCHEMA: '' })).toEqual([expect.stringMatching(/^OUTBOX_SCHEMA: /)]);
    expect(loadConfig({ OUTBOX_POLL_MS: '', OUTBOX_LISTEN_URL: '', DATABASE_URL: '' })).toMatchObject({
      databaseUrl: 'postgres://postgres@127.0.0.1:5432/postgres',
      listenUrl: 'postgres://postgres@127.0.0.1:5432/postgres',
      relay: { pollMs: 5_000 },
    });
  });

  it.each(['my-schema', 'Foo', '1x', 'a"b', "o'brien", 'a$$b', 'x.job', 'é', 'x'.repeat(64), 'foo\n', 'x"; drop table t; --'])(
    'refuses the schema name %j (C46)',
    (schema) => {
      expect(problemsOf({ OUTBOX_SCHEMA: schema })).toEqual([expect.stringMatching(/^OUTBOX_SCHEMA: .*is refused/)]);
    },
  ); // prettier-ignore

  it('gives each schema a relay, a task queue and a consumer of its own', () => {
    expect(loadConfig({ OUTBOX_SCHEMA: 'foo' })).toMatchObject({
      schema: 'foo',
      taskQueue: 'outbox/foo',
      relayWorkflowId: 'outbox-relay/foo',
      nats: { durable: 'outbox-foo' },
    });
    expect(loadConfig({ OUTBOX_SCHEMA: 'foo', OUTBOX_TASK_QUEUE: 'mine' }).taskQueue).toBe('mine');
  });

  it('never prints the value of a variable that may hold a password', () => {
    const secret = 'postgres://me:hunter2@db/x';
    expect(problemsOf({ DATABASE_URL: secret, OUTBOX_LISTEN_URL: secret, OUTBOX_DATABASE_URL: secret }).join()).not.toMatch(/hunter2/);
  }); // prettier-ignore

  it.each(['/orders', '/', 'a\tb', 'a\u0000', 'a\u0085', 'a\nb', 'a\u2028', '\u2029a', 'a\ud800', 'x'.repeat(201)])(
    'refuses the task queue %j, by which no worker could receive',
    (queue) =>
      expect(problemsOf({ OUTBOX_TASK_QUEUE: queue })).toEqual([
        expect.stringMatching(
          /^OUTBOX_TASK_QUEUE: a task queue .* 200 characters, .* control characters .* begin with \/$/,
        ),
      ]),
  );

  it.each([
    ['NATS_URL', ','],
    ['NATS_URL', ' '],
    ['NATS_URL', ' , ,'],
    ['NATS_URL', 'nats://'],
    ['NATS_URL', '///'],
    ['NATS_URL', 'nats://a,tls://'],
    ['NATS_URL', 'nats://user@'],
    ['DATABASE_URL', 'postgres://h/db?port=abc'],
    ['DATABASE_URL', 'postgres://h/db?port=0'],
    ['OUTBOX_LISTEN_URL', 'postgres://h/db?port=65536'],
  ])('refuses %s as %j, which no client could use', (variable, url) =>
    expect(problemsOf({ [variable]: url })).toEqual([
      expect.stringMatching(new RegExp(`^${variable}: (must be a URL |its parameter \`port\` must be )`)),
    ]),
  );

  it.each([
    ['NATS_URL', 'a,,b:4222,'],
    ['NATS_URL', ' nats://a , b '],
    ['DATABASE_URL', 'postgres:///db?host=/var/run/postgresql&port=5433'],
    ['DATABASE_URL', 'postgres://h/db?port='],
  ])('takes %s as %j', (variable, url) => expect(problemsOf({ [variable]: url })).toEqual([]));

  it('cannot be changed afterwards', () => {
    const config = loadConfig({});
    for (const part of [config, config.nats, config.relay, config.worker]) expect(Object.isFrozen(part)).toBe(true);
  });
});
