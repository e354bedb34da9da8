import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installRuntime } from '../../src/temporal/runtime';
import { testEnvironment } from '../support/environment';
import { readHistory } from './historyFile';

installRuntime(pino({ level: 'silent' }));

/** A change that fails here breaks every relay, consumer or delivery run that is open: guard it with `patched`, or record anew on purpose. */
describe('the current workflow code replays', () => {
  const histories = readdirSync(__dirname).filter((file) => /^(relay|deliver|consumer)-\d+\.json$/.test(file));

  it.each(histories)('the recorded history %s without a difference', async (file) => {
    await Worker.runReplayHistory(
      { workflowBundle: { codePath: testEnvironment().workflowBundle } },
      readHistory(join(__dirname, file)),
    );
  });

  it.each(histories)('nothing of the recording machine stands in %s', (file) => {
    const text = readFileSync(join(__dirname, file), 'utf8');
    const payloads = [...text.matchAll(/"data": ?"([A-Za-z0-9+/=]+)"/g)].map(([, data]) =>
      Buffer.from(data!, 'base64').toString(),
    );
    const names = [...`${text}\n${payloads.join('\n')}`.matchAll(/"\d+@([\w.-]+)"|outbox\/t_\w+\/([\w.]+)-\d+-/g)];
    // A sticky queue is named after the worker's identity and 32 digits.
    const hosts = names.map(([, identity, queue]) => (identity ?? queue)!.replace(/-[0-9a-f]{32}$/, ''));
    expect(new Set(hosts)).toEqual(new Set(['recorder']));
  });
});
