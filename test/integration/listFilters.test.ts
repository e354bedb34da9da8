import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { defineHandler } from '../../src/handlers/defineHandler';
import { findTemporal } from '../../src/servers/findBinaries';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { deliveryRows } from '../support/handled';
import { TestOutbox } from '../support/outbox';
import { OwnServers } from '../support/ownServers';

const page = readFileSync(join(__dirname, '..', '..', 'docs', 'operations.md'), 'utf8');
/** By the words of its link. */
const links = new Map(
  [...page.matchAll(/\[([^\]]+)\]\(http:[^)]*\/workflows\?query=([^)]+)\)/g)].map(([, words = '', query = '']) => [
    words,
    decodeURIComponent(query),
  ]),
);
const commands = [...page.matchAll(/^temporal workflow list .*$/gm)].map(([command]) => command);
const run = promisify(execFile);

describe('the list filters of docs/operations.md', () => {
  const own = new OwnServers();
  let outbox: TestOutbox;
  let path: string;
  /** Runs by the name that the tests call them. */
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    const temporal = await own.temporal();
    path = `${dirname(await findTemporal(() => undefined))}${delimiter}${process.env.PATH}`;
    outbox = await TestOutbox.create({
      ...{ EVENT_BUS_BACKEND: 'db', TEMPORAL_ADDRESS: temporal.url, EVENT_QUEUE_MAX_ATTEMPTS: '1' },
      ...{ OUTBOX_BACKOFF_FIRST_MS: '3600000', OUTBOX_BACKOFF_MAX_MS: '3600000' },
    });
    const fail = () => {
      throw new Error('no');
    };
    // The attempts of a delivery run are its worker's to count: the first worker gives up, the second waits.
    const handler = (name: string) =>
      defineHandler({ name, events: [name === 'send-mail' ? 'Mailed' : 'Billed'], run: fail });
    const handlers = [handler('send-mail'), handler('draw-invoice')];
    const seed = async (name: string, type: string, aggregateId: string) => {
      const [id = ''] = await enqueue(outbox.db, [event({ type, aggregateType: 'order', aggregateId })]);
      ids[name] = deliveryWorkflowId(outbox.db.schema, id);
    };
    const worker = await outbox.startWorker({}, { handlers });
    await seed('dead mail of o-1', 'Mailed', 'o-1');
    await seed('dead invoice of o-2', 'Billed', 'o-2');
    await eventually(async () => (await rows('dead')) === 2, 120_000);
    await worker.stop();
    await outbox.startWorker({ EVENT_QUEUE_MAX_ATTEMPTS: '9' }, { handlers });
    await seed('failing mail of o-2', 'Mailed', 'o-2');
    await seed('failing invoice of o-1', 'Billed', 'o-1');
    await eventually(async () => (await rows('waiting')) === 2, 120_000);
    await eventually(async () => (await outbox.client.workflow.count(`WorkflowType = 'deliverEvent'`)).count === 4);
    await eventually(async () => (await listed(`ExecutionStatus = 'Failed'`)).length === 2);
  }, 600_000);
  afterAll(async () => {
    await outbox.close();
    await own.close();
  }, 300_000);

  const EXPECTED: Record<string, string[]> = {
    'failing now': ['failing mail of o-2', 'failing invoice of o-1'],
    'dead since yesterday': ['dead mail of o-1', 'dead invoice of o-2'],
    'one aggregate': ['dead mail of o-1', 'failing invoice of o-1'],
    'one handler': ['dead mail of o-1', 'failing mail of o-2'],
  };

  it.each(Object.keys(EXPECTED))('the link "%s" lists exactly those runs', async (words) => {
    expect(await listed(links.get(words)!)).toEqual(names(words));
  });

  it.each(Object.keys(EXPECTED).map((words, at) => [words, at] as const))(
    'the command for "%s" lists the same',
    async (words, at) => {
      const { stdout } = await run('sh', ['-c', `${commands[at]} -o json`], {
        env: { ...process.env, PATH: path, TEMPORAL_ADDRESS: outbox.settings.TEMPORAL_ADDRESS },
      });
      const found = JSON.parse(stdout) as { execution: { workflowId: string } }[];
      expect(found.map(({ execution }) => nameOf(execution.workflowId)).sort()).toEqual(names(words));
    },
  );

  it('"dead since yesterday" leaves out what died before its day', async () => {
    const query = links.get('dead since yesterday')!;
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    expect(await listed(query.replace(/\d{4}-\d\d-\d\dT[\d:]+Z/, tomorrow))).toEqual([]);
  });

  it.each(["now() - INTERVAL '1 day'", "'-24h'", "'yesterday'"])(
    'the date must be put in by hand: the server takes no %s, which the link could name for good',
    async (time) => {
      await expect(listed(`WorkflowType = 'deliverEvent' AND CloseTime >= ${time}`)).rejects.toMatchObject({
        cause: { message: expect.stringMatching(/invalid query/) as string },
      });
    },
  );

  it('each has its link and its command', () => {
    expect([...links.keys()]).toEqual(Object.keys(EXPECTED));
    expect(commands).toHaveLength(links.size);
  });

  const names = (words: string) => [...EXPECTED[words]!].sort();
  const nameOf = (workflowId: string) => Object.keys(ids).find((name) => ids[name] === workflowId) ?? workflowId;
  const rows = async (state: string) => (await deliveryRows(outbox.db)).filter((row) => row.state === state).length;

  async function listed(query: string): Promise<string[]> {
    const found: string[] = [];
    for await (const { workflowId } of outbox.client.workflow.list({ query })) found.push(nameOf(workflowId));
    return found.sort();
  }
});
