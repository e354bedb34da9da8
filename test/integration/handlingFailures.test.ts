import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineHandler } from '../../src/handlers/defineHandler';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { deliveryOf } from '../support/deliveries';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows } from '../support/handled';
import { TestOutbox } from '../support/outbox';

const LIBRARY = join(__dirname, '..', '..', 'dist', 'index.js');

/** What a handler may throw, and a part of what is kept of it (C20). Each `make` stands for itself: it is moved as text. */
const ODD: Record<
  string,
  { readonly make: () => unknown; readonly kept: RegExp; /** By a promise, not thrown. */ readonly rejects?: true }
> = {
  circular: {
    make: () => {
      const error = new Error('it turns', { cause: undefined });
      error.cause = error;
      return error;
    },
    kept: /^it turns/,
  },
  nothing: { make: () => undefined, kept: /^undefined was thrown/ },
  null: { make: () => null, kept: /^null was thrown/ },
  text: { make: () => 'x', kept: /^x$/ },
  nul: { make: () => new Error('a\u0000b'), kept: /^a b$/ },
  long: { make: () => new Error('y'.repeat(5_000_000)), kept: /^y{2000,}…$/ },
  getter: {
    make: () =>
      Object.defineProperty(new Error(), 'message', {
        get: () => {
          throw new Error('from the getter');
        },
      }),
    kept: /could not be read/,
  },
  frozen: { make: () => Object.freeze({ code: 'E_FROZEN' }), kept: /./, rejects: true },
  proxy: {
    make: () =>
      new Proxy(new Error('hidden'), {
        get: () => {
          throw new Error('no');
        },
      }),
    kept: /could not be read/,
  },
  symbol: { make: () => Symbol('s'), kept: /Symbol\(s\)/ },
  half: { make: () => new Error('half a pair \ud800'), kept: /^half a pair/ },
};

/** A module with a handler that throws what the aggregate's name says, until there is a file of the name `healthy`. */
function oddHandler({ transactional, healthy }: { transactional: boolean; healthy: string }): string {
  const kinds = Object.entries(ODD).map(
    ([kind, { make, rejects }]) => `${kind}: { make: ${String(make)}, rejects: ${rejects} }`,
  );
  return `const { existsSync } = require('node:fs');
    const { defineHandler } = require(${JSON.stringify(LIBRARY)});
    const ODD = { ${kinds.join(', ')} };
    const run = ({ aggregateId }) => {
      const odd = existsSync(${JSON.stringify(healthy)}) ? undefined : ODD[aggregateId];
      const fail = () => {
        if (odd) throw odd.make();
      };
      return odd?.rejects ? Promise.resolve().then(fail) : fail();
    };
    exports.odd = defineHandler({ name: 'odd', events: ['ThingHappened'], transactional: ${transactional}, run });`;
}

describe.each(['db', 'nats'])('whatever a handler throws, backend %s', (backend) => {
  let outbox: TestOutbox;
  let directory: string;
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'outbox-handlers-'));
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, EVENT_QUEUE_MAX_ATTEMPTS: '3' });
  });
  afterEach(async () => {
    await outbox.close();
    rmSync(directory, { recursive: true });
  });

  it.each([false, true])(
    'is a failed attempt with a clean, bounded reason; transactional: %s (C20)',
    async (transactional) => {
      // A process of its own: one that nobody takes care of would end it, as a rejection that nobody handles does.
      const healthy = join(directory, 'healthy');
      const handlers = join(directory, 'handlers.cjs');
      writeFileSync(handlers, oddHandler({ transactional, healthy }));
      const settings = { OUTBOX_BACKOFF_FIRST_MS: '3600000', OUTBOX_BACKOFF_MAX_MS: '3600000' };
      const worker = await outbox.spawnWorker(settings, { handlers });
      const kinds = Object.keys(ODD);
      const ids = await enqueue(
        outbox.db,
        [...kinds, 'good'].map((aggregateId) => event({ aggregateId })),
      );
      await allHandled(outbox.db, 'odd', 1);
      await eventually(async () => (await deliveryRows(outbox.db)).length === kinds.length);
      for (const [index, kind] of kinds.entries()) {
        const row = (await deliveryRows(outbox.db)).find(({ event_id }) => event_id === ids[index])!;
        expect([kind, row]).toMatchObject([kind, { state: 'waiting', attempts: 1 }]);
        expect(row.failure_reason).toMatch(ODD[kind]!.kept);
        expect(Buffer.byteLength(row.failure_reason!)).toBeLessThanOrEqual(2_048);
        expect(row.failure_reason).not.toContain('\u0000');
        const { rows } = await outbox.db.query<{ seconds: number }>(
          `SELECT extract(epoch FROM next_at - touched_at)::float8 AS seconds FROM :schema.deliveries WHERE event_id = $1`,
          [ids[index]],
        );
        expect(rows[0]!.seconds).toBeCloseTo(3_600, 1);
      }
      if (backend === 'db') {
        await eventually(async () => (await outbox.rowsByStatus()).retrying === kinds.length);
        const { rows } = await outbox.db.query<{ attempts: number; reason: string; due: boolean }>(
          `SELECT attempts, failure_reason AS reason, retry_at > clock_timestamp() + interval '50 minutes' AS due
           FROM :schema.event_queue WHERE status = 'retrying'`,
        );
        expect(rows.every(({ attempts, due, reason }) => attempts === 1 && due && reason.length > 0)).toBe(true);
      }
      // The same once more on a delivery run, where what was thrown would enter a history too.
      await Promise.all(ids.slice(0, -1).map((id) => reached(id)));
      await eventually(async () => (await deliveryRows(outbox.db)).every(({ attempts }) => attempts === 2));
      for (const [index, kind] of kinds.entries())
        expect((await deliveryOf(outbox.db, ids[index]!, 'odd'))!.reason).toMatch(ODD[kind]!.kept);
      writeFileSync(healthy, '');
      await Promise.all(ids.slice(0, -1).map((id) => reached(id)));
      await allHandled(outbox.db, 'odd', ids.length);
      await outbox.allDone();
      // It has lived, and ends only now.
      expect(await worker.kill('SIGTERM')).toBe(0);
    },
  );

  const reached = (id: string) =>
    eventually(() =>
      outbox.client.workflow
        .getHandle(deliveryWorkflowId(outbox.db.schema, id))
        .signal('retryNow', {})
        .then(() => true),
    );

  it('is redacted before it is stored, logged or told to Temporal', async () => {
    const secret = 'jane.doe@example.com';
    const leaky = defineHandler({
      name: 'leaky',
      events: ['ThingHappened'],
      run: () => {
        const error = new Error(`no mailbox ${secret}`, { cause: new Error(`550 ${secret}`) });
        error.name = 'MailboxError';
        throw error;
      },
    });
    const leakyToo = defineHandler({
      name: 'leakyToo',
      events: ['ThingHappened'],
      transactional: true,
      run: async (_, { tx }) => {
        await tx.query('SELECT $1::text::integer', [secret]);
      },
    });
    const { logs } = await outbox.startWorker(
      { OUTBOX_BACKOFF_FIRST_MS: '50' },
      { handlers: [leaky, leakyToo], redactFailure: (text) => text.replaceAll(/[\w.]+@[\w.]+/g, '<address>') },
    );
    const [id = ''] = await enqueue(outbox.db, [event()]);
    const run = outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, id));
    await eventually(async () => (await run.describe()).status.name === 'FAILED');
    const rows = await deliveryRows(outbox.db);
    expect(rows.map(({ state }) => state)).toEqual(['dead', 'dead']);
    expect(rows[0]!.failure_reason).toBe('no mailbox <address> (cause: 550 <address>)');
    const { rows: queue } = await outbox.db.query(`SELECT * FROM :schema.event_queue`);
    const history = JSON.stringify(await run.fetchHistory());
    const payloads = [...history.matchAll(/"data":"([^"]+)"/g)].map(([, data]) =>
      Buffer.from(data!, 'base64').toString(),
    );
    for (const text of [
      JSON.stringify(rows),
      JSON.stringify(queue),
      JSON.stringify(logs),
      history,
      payloads.join('\n'),
    ])
      expect(text).not.toContain('jane.doe');
    expect(payloads.join('\n')).toContain('<address>');
  });
});
