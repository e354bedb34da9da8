import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { Client } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { SEARCH_ATTRIBUTES } from '../../src/deliveries/searchAttributes';
import { defineHandler } from '../../src/handlers/defineHandler';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { registerSearchAttributes } from '../../src/temporal/searchAttributes';
import type { DeliveryStatus } from '../../src/workflows/deliveryMessages';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { OwnServers } from '../support/ownServers';
import { runCli } from '../support/runCli';

/** Hours between two attempts. */
const PATIENT = { OUTBOX_BACKOFF_FIRST_MS: '3600000', OUTBOX_BACKOFF_MAX_MS: '3600000' };

const failing = (name: string) =>
  defineHandler({
    name,
    events: ['ThingHappened'],
    run: () => {
      throw new Error('no');
    },
  });

const NAMES = Object.values(SEARCH_ATTRIBUTES).map(({ name }) => name);

describe('search attributes', () => {
  const own = new OwnServers();
  let outbox: TestOutbox;
  beforeAll(async () => {
    const temporal = await own.temporal();
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db', TEMPORAL_ADDRESS: temporal.url });
  });
  afterAll(async () => {
    await outbox.close();
    await own.close();
  });

  const migrate = (env: Record<string, string> = {}, ...options: string[]) =>
    runCli(['migrate', ...options], {
      ...pick(outbox.settings, 'DATABASE_URL', 'OUTBOX_SCHEMA', 'TEMPORAL_ADDRESS'),
      ...env,
    });

  it('are registered by `outbox migrate` where Temporal allows it, and said to be there afterwards', async () => {
    const namespace = await newNamespace(outbox.client);
    const first = await migrate({ TEMPORAL_NAMESPACE: namespace });
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('are registered in Temporal') as string });
    const { customAttributes } = await outbox.client.connection.operatorService.listSearchAttributes({ namespace });
    expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(NAMES));
    const second = await migrate({ TEMPORAL_NAMESPACE: namespace });
    expect(second).toMatchObject({ code: 0, stderr: '' });
    const third = await migrate({ TEMPORAL_NAMESPACE: namespace }, '--json');
    expect(JSON.parse(third.stdout)).toMatchObject({ applied: [], searchAttributes: 'there' });
  });

  it('are left to commands, which are printed, where Temporal refuses: the migration is done all the same', async () => {
    const managed = await refusingServer();
    try {
      const { code, stdout, stderr } = await migrate({
        TEMPORAL_ADDRESS: managed.address,
        TEMPORAL_NAMESPACE: 'mine.a1b2c',
      });
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('is up to date') as string });
      for (const [name, type] of [
        ['OutboxEventType', 'Keyword'],
        ['OutboxAggregateId', 'Keyword'],
        ['OutboxHandler', 'KeywordList'],
      ])
        expect(stderr).toContain(
          `  temporal operator search-attribute create --namespace mine.a1b2c --name ${name} --type ${type}\n`,
        );
      expect(stderr).toContain(
        '  tcld namespace search-attributes add --namespace mine.a1b2c --search-attribute OutboxEventType=Keyword --search-attribute OutboxAggregateId=Keyword --search-attribute OutboxHandler=KeywordList',
      );
    } finally {
      managed.stop();
    }
  });

  it('do not hold the migration up while Temporal is away: it says so in one line', async () => {
    const { code, stdout, stderr } = await migrate({ TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('is up to date') as string });
    expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(/were not registered.*127\.0\.0\.1:1/)]);
  });

  it('of another type are told, and nothing is changed', async () => {
    const namespace = await newNamespace(outbox.client);
    const { operatorService } = outbox.client.connection;
    await operatorService.addSearchAttributes({ namespace, searchAttributes: { OutboxHandler: 5 } });
    expect(await registerSearchAttributes(operatorService, namespace)).toMatchObject({ kind: 'refused' });
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    expect(customAttributes.OutboxHandler).toBe(5);
  });

  it('name each handler of the event, also one that fails later', async () => {
    const [id = ''] = await enqueue(outbox.db, [event()]);
    const worker = await outbox.startWorker(PATIENT, { handlers: [failing('first'), failing('second')] });
    const run = outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, id));
    await eventually(async () => {
      const { typedSearchAttributes } = await run.describe();
      return typedSearchAttributes.get(SEARCH_ATTRIBUTES.handler)?.length === 2;
    });
    await run.signal('deliver', [{ handler: 'third', attempts: 1, dueInMs: 3_600_000, reason: 'no' }]);
    await eventually(async () => {
      const { typedSearchAttributes } = await run.describe();
      expect(new Set(typedSearchAttributes.get(SEARCH_ATTRIBUTES.handler))).toEqual(
        new Set(['first', 'second', 'third']),
      );
      return true;
    });
    await eventually(async () => (await outbox.client.workflow.count(`OutboxHandler = 'third'`)).count === 1);
    await worker.stop();
  });

  it('that were taken away do not stop a delivery run, neither its start nor a later signal', async () => {
    const worker = await outbox.startWorker(PATIENT, { handlers: [failing('first'), failing('second')] });
    const { operatorService } = outbox.client.connection;
    await operatorService.removeSearchAttributes({ namespace: 'default', searchAttributes: NAMES });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    const run = outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, id));
    await eventually(async () => (await run.query<DeliveryStatus>('status')).handlers.length === 2);
    await run.signal('deliver', [{ handler: 'third', attempts: 1, dueInMs: 3_600_000, reason: 'no' }]);
    await eventually(async () => (await run.query<DeliveryStatus>('status')).handlers.length === 3);
    const { typedSearchAttributes } = await run.describe();
    expect(typedSearchAttributes.get(SEARCH_ATTRIBUTES.handler)).toBeUndefined();
    await worker.stop();
  });
});

/** A namespace without any search attribute of ours. */
async function newNamespace(client: Client): Promise<string> {
  const namespace = `n-${randomUUID()}`;
  await client.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  await eventually(() => client.connection.operatorService.listSearchAttributes({ namespace }));
  return namespace;
}

/** As a managed Temporal: it answers, and does not offer the operator's calls. */
async function refusingServer(): Promise<{ address: string; stop: () => void }> {
  const server = new Server();
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return { address: `127.0.0.1:${port}`, stop: () => server.forceShutdown() };
}

function pick(settings: Record<string, string>, ...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, settings[name] ?? '']));
}
