import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineHandler } from '../../src/handlers/defineHandler';
import { eventually } from '../support/eventually';
import type { TestOutbox } from '../support/outbox';
import { type Settings } from '../support/outbox';
import { writeHistory } from './historyFile';

/** A run as it is now, under way or ended; without a run id the latest of its id. */
export interface Run {
  readonly workflowId: string;
  readonly runId?: string | undefined;
}

/** Records situations of one workflow type, each as a file `<type>-<situation>.json`. */
export type Recorder = (recording: Recording) => Promise<void>;

export class Recording {
  constructor(private readonly directory: string) {
    mkdirSync(directory, { recursive: true });
  }

  async save(outbox: TestOutbox, situation: string, { workflowId, runId }: Run): Promise<void> {
    const history = await outbox.client.workflow.getHandle(workflowId, runId).fetchHistory();
    const file = join(this.directory, `${situation}.json`);
    writeHistory(file, history);
    console.log(`${file}: ${history.events?.length} events`);
  }
}

/** For a worker that is a process of its own. */
export const NEUTRAL_PROCESS = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`import os from 'node:os'; os.hostname = () => 'recorder';`)}`,
};

/** Hours between two attempts: only a signal brings the next one. */
export const PATIENT: Settings = { OUTBOX_BACKOFF_FIRST_MS: '3600000', OUTBOX_BACKOFF_MAX_MS: '3600000' };

/** Fails so many times, over all events. */
export function failing(name: string, times: number) {
  let entries = 0;
  return defineHandler({
    name,
    events: ['ThingHappened'],
    run: () => {
      if (++entries <= times) throw new Error(`no ${entries}`);
    },
  });
}

/** The history of a run that grows without being asked for, as an idle one's by its polls, until it is so much longer. */
export async function grown(outbox: TestOutbox, { workflowId }: Run, by: number): Promise<void> {
  const length = async () => (await outbox.client.workflow.getHandle(workflowId).describe()).historyLength;
  const before = await length();
  await eventually(async () => (await length()) > before + by, 60_000);
}

/** Resolves when the run has ended, in whatever way. */
export async function ended(outbox: TestOutbox, { workflowId, runId }: Run): Promise<void> {
  const run = outbox.client.workflow.getHandle(workflowId, runId);
  await eventually(async () => (await run.describe()).status.name !== 'RUNNING', 60_000);
}

/** The id of the run that is under way. */
export async function runIdOf(outbox: TestOutbox, workflowId: string): Promise<string> {
  return (await outbox.client.workflow.getHandle(workflowId).describe()).runId;
}

/** What one side waits for until the other opens it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}
