import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { withoutAddresses } from './environment';
import { TestOutbox, type Settings } from '../../../../test/support/outbox';
import { NO_FAULTS } from '../../demo/faults';
import { Instance } from '../../demo/instance';
import { settle, type Running } from '../../demo/job';
import { startMetadataProvider } from '../../demo/metadataProvider';
import { replay, type Phase } from '../../demo/replay';

const PATIENCE_MS = 180_000;

export interface TwoInstancesOptions {
  readonly backend: 'db' | 'nats';
  /** Whoever compares two runs gives the same, as everything is named by them. */
  readonly ports: { readonly first: number; readonly second: number; readonly metadata: number };
  readonly settings?: Settings;
  /** Of the first instance. */
  readonly worker?: { readonly script: string; readonly env: NodeJS.ProcessEnv };
}

/** The application twice, each as a server and a worker of its own, on the test run's servers. */
export class TwoInstances {
  private constructor(
    readonly first: Running,
    readonly second: Running,
    readonly outboxes: { readonly first: TestOutbox; readonly second: TestOutbox },
    readonly directory: string,
    private readonly closers: (() => Promise<unknown>)[],
  ) {}

  static async start({ backend, ports, settings = {}, worker }: TwoInstancesOptions): Promise<TwoInstances> {
    const directory = mkdtempSync(join(tmpdir(), 'movie-diary-two-'));
    const closers: (() => Promise<unknown>)[] = [() => Promise.resolve(rmSync(directory, { recursive: true }))];
    const metadata = await startMetadataProvider({ ...NO_FAULTS, port: ports.metadata });
    closers.push(() => metadata.close());
    const open = async (name: 'first' | 'second') => {
      const outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, ...settings });
      closers.push(() => outbox.close());
      const rigged = name === 'first' ? worker : undefined;
      const instance = new Instance({
        ...{ name, directory, port: ports[name], metadataUrl: metadata.url },
        databaseUrl: outbox.database.url,
        outboxSchema: outbox.database.schema,
        env: { ...withoutAddresses(process.env), ...outbox.settings, ...rigged?.env },
        ...(rigged && { workerScript: rigged.script }),
      });
      closers.push(() => instance.stop());
      const pool = new Pool({ connectionString: outbox.database.url, max: 2 });
      pool.on('error', () => undefined);
      closers.push(() => pool.end());
      return { outbox, running: { instance, pool } };
    };
    const [first, second] = [await open('first'), await open('second')];
    const outboxes = { first: first.outbox, second: second.outbox };
    const both = new TwoInstances(first.running, second.running, outboxes, directory, closers);
    try {
      await Promise.all([both.first, both.second].map(({ instance }) => instance.start()));
    } catch (error) {
      await both.close();
      throw error;
    }
    return both;
  }

  /** Each phase begins when all that follows from the one before has happened. */
  async play(phases: readonly Phase[]): Promise<void> {
    const origins = { first: this.first.instance.origin, second: this.second.instance.origin };
    for (const phase of phases) {
      await replay([phase], origins, AbortSignal.timeout(PATIENCE_MS));
      await this.settled();
    }
  }

  settled(): Promise<void> {
    return settle([this.first, this.second], { signal: AbortSignal.timeout(PATIENCE_MS), ms: PATIENCE_MS });
  }

  async close(): Promise<void> {
    for (const closer of this.closers.reverse()) await closer().catch(() => undefined);
  }
}
