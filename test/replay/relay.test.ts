import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { version } from '../../package.json';
import { installRuntime } from '../../src/temporal/runtime';
import * as workflows from '../../src/workflows';
import { testEnvironment } from '../support/environment';
import { readHistory, workflowTypeOf } from './historyFile';

installRuntime(pino({ level: 'silent' }));

const files = readdirSync(__dirname, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.json'));

/** What has no situation of its own for a type cannot happen to it: maintenance takes no signals and asks no broker. */
const SITUATIONS: Readonly<Record<keyof typeof workflows, readonly string[]>> = {
  relay: ['idle', 'busy', 'paused', 'orders', 'outage', 'outage-over', 'lost-worker', 'continued', 'pinned', 'moved', 'fenced', 'reemitted'], // prettier-ignore
  consumer: ['idle', 'busy', 'paused', 'orders', 'outage', 'outage-over', 'lost-worker', 'continued', 'acknowledged'],
  deliverEvent: ['waiting', 'attempt', 'retried', 'skipped', 'dead', 'reemitted', 'lost-worker', 'continued', 'outage', 'outage-over', 'dead-at-once', 'dead-skipped'], // prettier-ignore
  maintenance: ['idle', 'busy', 'parts', 'failed', 'outage', 'outage-over'],
};

/** A change that fails here breaks every run that is open: guard it with `patched`, or give up its history on purpose. */
describe('the current workflow code replays', () => {
  it.each(files)('the recorded history %s without a difference', async (file) => {
    await Worker.runReplayHistory(
      { workflowBundle: { codePath: testEnvironment().workflowBundle } },
      readHistory(join(__dirname, file)),
    );
  });
});

describe('the recorded histories', () => {
  const ofThisVersion = files.filter((file) => file.startsWith(`${version}/`));

  it.each(Object.keys(workflows))(
    'show %s in each situation, as this version does it: `npm run record-histories` makes them',
    (type) => {
      const prefix = type === 'deliverEvent' ? 'deliver' : type;
      const wanted = SITUATIONS[type as keyof typeof workflows].map((each) => `${version}/${prefix}-${each}.json`);
      expect(ofThisVersion).toEqual(expect.arrayContaining(wanted));
      for (const file of wanted)
        expect([file, workflowTypeOf(readHistory(join(__dirname, file)))]).toEqual([file, type]);
    },
  );

  it('hold what the situations are named after', () => {
    const text = (name: string) => readFileSync(join(__dirname, version, `${name}.json`), 'utf8');
    for (const name of ['relay-lost-worker', 'consumer-lost-worker', 'deliver-lost-worker', 'relay-fenced'])
      expect([name, text(name)]).toEqual([name, expect.stringContaining('activityTaskTimedOutEventAttributes')]);
    for (const name of ['relay-lost-worker', 'relay-pinned', 'consumer-lost-worker'])
      expect([name, text(name)]).toEqual([name, expect.stringContaining('ContinuedAsNewEventAttributes')]);
    for (const name of ['relay-continued', 'relay-moved', 'consumer-continued', 'deliver-continued'])
      expect([name, text(name)]).toEqual([name, expect.stringMatching(/"continuedExecutionRunId":"[0-9a-f-]{36}"/)]);
    for (const name of ['relay-orders', 'consumer-orders', 'relay-reemitted'])
      expect([name, text(name)]).toEqual([name, expect.stringContaining('workflowExecutionUpdateAcceptedEvent')]);
    for (const name of ['maintenance-failed', 'maintenance-outage-over', 'deliver-dead', 'deliver-dead-at-once'])
      expect([name, text(name)]).toEqual([name, expect.stringContaining('workflowExecutionFailedEvent')]);
    for (const name of ['deliver-outage', 'maintenance-outage'])
      expect([name, text(name)]).toEqual([name, expect.stringContaining('Connection terminated unexpectedly')]);
    // Markers of `patched`.
    for (const name of ['deliver-waiting', 'consumer-lost-worker'])
      expect([name, text(name)]).toEqual([name, expect.stringContaining('core_patch')]);
  });

  it.each(files)('name nothing of the recording machine in %s', (file) => {
    const text = readFileSync(join(__dirname, file), 'utf8');
    const payloads = [...text.matchAll(/"data": ?"([A-Za-z0-9+/=]+)"/g)].map(([, data]) =>
      Buffer.from(data!, 'base64').toString(),
    );
    const all = `${text}\n${payloads.join('\n')}`;
    const names = [...all.matchAll(/"\d+@([\w.-]+)"|outbox\/t_\w+\/([\w.]+)-\d+-/g)];
    // A sticky queue is named after the worker's identity and 32 digits.
    const hosts = names.map(([, identity, queue]) => (identity ?? queue)!.replace(/-[0-9a-f]{32}$/, ''));
    expect(new Set(hosts)).toEqual(new Set(['recorder']));
    expect(all).not.toMatch(/\/(root|home|Users|tmp|work)\//);
    expect(relative(__dirname, join(__dirname, file))).toMatch(
      /^[\w.-]+\/(relay|deliver|consumer|maintenance)-[\w-]+\.json$/,
    );
  });
});
