import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { Authority } from '../support/certificates';
import { testEnvironment } from '../support/environment';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled } from '../support/handled';
import { endpointOf } from '../support/metrics';
import { TestOutbox, type Settings, type WorkerProcess } from '../support/outbox';
import { Proxy } from '../support/proxy';
import { TemporalGate } from '../support/temporalGate';
import { runsNamed, temporalTexts, textOf } from '../support/temporalTexts';

/** In every password and key, and nowhere else. */
const SECRET = 'S3CRET';
const API_KEY = `${SECRET}-key-of-temporal`;
/** In every body, and nowhere else. */
const BODY = 'B0DY-of-somebody';
const DIST = join(__dirname, '..', '..', 'dist');
const HANDLERS = `
  const { defineHandler } = require(${JSON.stringify(join(DIST, 'index.js'))});
  const doomed = () => { throw new Error('the mail server is away'); };
  exports.handlers = [
    defineHandler({ name: 'mail', events: ['ThingHappened'], run: () => undefined }),
    defineHandler({ name: 'slow-to-succeed', events: ['ThingFailed'], run: (event, { attempt }) => { if (attempt === 1) doomed(); } }),
    defineHandler({ name: 'doomed', events: ['ThingDoomed'], run: doomed }),
    defineHandler({ name: 'given-up', events: ['ThingDoomed'], run: doomed }),
    // PostgreSQL quotes the value that it refuses, in the message or beside it.
    defineHandler({ name: 'no-number', transactional: true, events: ['ThingDoomed'],
      run: ({ payload }, { tx }) => tx.query('SELECT $1::text::integer', [payload.note]) }),
    defineHandler({ name: 'twice', transactional: true, events: ['ThingDoomed'],
      run: async ({ payload }, { tx }) => {
        await tx.query('CREATE TEMP TABLE twice (note text PRIMARY KEY) ON COMMIT DROP');
        await tx.query('INSERT INTO twice VALUES ($1), ($1)', [payload.note]);
      } }),
  ];`;

describe('no password, no key and no body', () => {
  const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-secrets-'));
  /** All that was said anywhere, by its place. */
  const said = new Map<string, string>();
  let outbox: TestOutbox;
  let postgres: Proxy;
  let nats: Proxy;
  let gate: TemporalGate;
  let settings: Settings;
  let worker: WorkerProcess;
  let doomed = '';

  beforeAll(async () => {
    const authority = await Authority.create(directory);
    const { cert, key } = await authority.issue('server');
    const handlers = join(directory, 'handlers.cjs');
    writeFileSync(handlers, HANDLERS);
    outbox = await TestOutbox.create({ EVENT_QUEUE_MAX_ATTEMPTS: '2' });
    postgres = await Proxy.to(outbox.database.url);
    nats = await Proxy.to(outbox.config().nats.url);
    gate = await TemporalGate.open(testEnvironment().temporalAddress, { cert, key, apiKey: API_KEY });
    const databaseUrl = new URL(postgres.url(outbox.database.url));
    databaseUrl.password = `${SECRET}-of-postgres`;
    settings = {
      ...outbox.settings,
      DATABASE_URL: databaseUrl.toString(),
      NATS_URL: nats.url('nats://127.0.0.1').replace('nats://', `nats://outbox:${SECRET}-of-nats@`),
      TEMPORAL_ADDRESS: gate.address,
      TEMPORAL_API_KEY: API_KEY,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: authority.caFile,
      OUTBOX_LOG_LEVEL: 'debug',
      OUTBOX_METRICS_ADDRESS: '127.0.0.1:0',
    };
    worker = await outbox.spawnWorker(settings, { handlers });
  });
  afterAll(async () => {
    await outbox?.close();
    await Promise.all([postgres?.close(), nats?.close(), gate?.close()]);
    rmSync(directory, { recursive: true, force: true });
  });

  const logged = (text: string) => worker.logs.filter((line) => line.includes(text)).length;
  const body = (n: number) => ({ note: `${BODY}-${n}` });
  const leaks = () =>
    [...said].flatMap(([place, text]) =>
      [SECRET, BODY]
        .filter((marker) => text.includes(marker))
        .map((marker) => `${place}: ${text.slice(Math.max(0, text.indexOf(marker) - 200), text.indexOf(marker) + 50)}`),
    );

  /** Keeps what the command prints. @param away settings of servers that nobody reaches */
  async function run(what: string, args: readonly string[], away: Settings = {}): Promise<string> {
    const outside = Object.entries(process.env).filter(([name]) => /^(PATH|HOME|TMPDIR)$/.test(name));
    const text = await new Promise<string>((resolve) => {
      const env = { ...Object.fromEntries(outside), ...settings, ...away };
      execFile(process.execPath, [join(DIST, 'cli.js'), ...args], { env }, (error, stdout, stderr) =>
        resolve(`${stdout}${stderr}\nexit code ${error ? String(error.code) : 0}`),
      );
    });
    said.set(`${what}: outbox ${args.join(' ')}`, text);
    return text;
  }

  async function ask(path: string, what: string, holds: (text: string) => boolean): Promise<void> {
    const endpoint = await endpointOf(worker);
    const text = await eventually(
      async () => {
        const answer = await (await fetch(`${endpoint}${path}`)).text();
        return holds(answer) ? answer : undefined;
      },
      60_000,
      `${path} ${what}`,
    );
    said.set(`${path} ${what}`, text);
  }

  it('stands in the log, in metrics or in /readyz, after success, failure, retry, dead letter and lost servers', async () => {
    await enqueue(outbox.db, [event({ payload: body(1) }), event({ type: 'ThingFailed', payload: body(2) })]);
    [doomed = ''] = await enqueue(outbox.db, [event({ type: 'ThingDoomed', payload: body(3) })]);
    await allHandled(outbox.db, 'slow-to-succeed', 1);
    await eventually(() => logged('event exhausted max deliveries') === 4, 60_000, 'four dead letters');
    // It was in the row and on the wire, and is looked for where it must not be.
    expect((await outbox.messages()).map((message) => message.body).join()).toContain(BODY);

    nats.takeAway();
    await enqueue(outbox.db, [event({ payload: body(4) })]);
    await ask('/readyz', 'without NATS', (text) => text.includes('NATS'));
    nats.giveBack();
    await allHandled(outbox.db, 'mail', 2);
    postgres.takeAway();
    await ask('/readyz', 'without PostgreSQL', (text) => text.includes('PostgreSQL'));
    postgres.giveBack();
    await ask('/readyz', 'again', (text) => text.includes('"ready":true'));
    await enqueue(outbox.db, [event({ payload: body(5) })]);
    await allHandled(outbox.db, 'mail', 3);
    await ask('/metrics', '', (text) => text.includes('outbox_handler_failures_total'));

    said.set('the log', worker.logs.join('\n'));
    expect(worker.logs.some((line) => line.includes('"level":"debug"'))).toBe(true);
    expect(leaks()).toEqual([]);
  });

  it('is printed by a command, for people or as JSON, whether it reaches the servers or not', async () => {
    const nowhere = '127.0.0.1:1';
    const away = {
      DATABASE_URL: `postgres://outbox:${SECRET}@${nowhere}/none`,
      NATS_URL: `nats://${SECRET}@${nowhere}`,
      TEMPORAL_ADDRESS: nowhere,
    };
    const refused = { NATS_USER: 'outbox', NATS_PASSWORD: SECRET, TEMPORAL_API_KEY: `${SECRET}-wrong`, NATS_URL: nats.url('nats://127.0.0.1') }; // prettier-ignore
    const verbs = [['config'], ['status'], ['doctor'], ['show', doomed], ['dead', 'list'], ['reconcile'], ['waiting'], ['handlers']]; // prettier-ignore
    const every = verbs.flatMap((verb) => [verb, [...verb, '--json']]);
    const runs = [
      ...every.map((args) => ['all there', args, {}] as const),
      ...verbs.map((args) => ['nobody there', args, away] as const),
      ...[['status'], ['doctor', '--json'], ['config']].map((args) => ['refused', args, refused] as const),
      ['hopeless', ['config'], { NATS_PASSWORD: SECRET, NATS_TOKEN: SECRET, DATABASE_URL: `:${SECRET}` }] as const,
    ];
    // Two at a time, for two cores.
    const next = runs.values();
    await Promise.all([1, 2].map(async () => {
      for (const [what, args, other] of next) await run(what, args, other);
    })); // prettier-ignore
    expect(said.get('all there: outbox config')).toContain('outbox:***@');
    expect(said.get(`all there: outbox show ${doomed} --json`)).toContain('the mail server is away');
    expect(said.get('all there: outbox dead list')).toContain(doomed);
    expect(leaks()).toEqual([]);
  });

  it('stands in Temporal: in no history, memo, search attribute, summary or detail of any run', async () => {
    await run('after all', ['retry', doomed]);
    expect(await run('after all', ['skip', doomed, '--handler', 'given-up', '--reason', 'nobody reads it'])).toContain(
      'exit code 0',
    );
    expect(await run('after all', ['reemit', doomed])).toContain('exit code 0');
    await eventually(() => logged('event exhausted max deliveries') === 7, 60_000, 'dead letters once more');
    await outbox.maintenance().trigger();
    const { relayWorkflowId, consumerWorkflowId, maintenanceId, schema } = outbox.config();
    const deliveryId = deliveryWorkflowId(schema, doomed);
    // The lists of Temporal are some moments late.
    const runs = await eventually(
      async () => {
        const found = await runsNamed(outbox.client, schema);
        const count = (part: string) => found.filter(({ workflowId }) => workflowId.startsWith(part)).length;
        const all = count(maintenanceId) > 0 && count(deliveryId) === 2;
        return all && count(relayWorkflowId) > 0 && count(consumerWorkflowId) > 0 ? found : undefined;
      },
      60_000,
      'relay, consumer, a run of the clean-up, and two of the event that failed, the second by its re-emit',
    );
    for (const [index, run] of runs.entries()) {
      for (const [part, text] of Object.entries(await temporalTexts(outbox.client, run)))
        said.set(`${run.workflowId}, run ${index}: ${part}`, text);
    }
    said.set('the schedule', textOf((await outbox.maintenance().describe()).raw));
    const told = (workflowId: string, part: string) =>
      [...said]
        .filter(([place]) => place.startsWith(workflowId) && place.endsWith(part))
        .map(([, text]) => text)
        .join();
    expect(told(deliveryId, 'history')).toContain('the mail server is away');
    // What a workflow is given stands there as bytes.
    expect(told(deliveryId, 'history')).toContain('"handler":"given-up"');
    expect(told(relayWorkflowId, 'current details')).toContain('running');
    said.set('the log', worker.logs.join('\n'));
    expect(leaks()).toEqual([]);
  });
});
