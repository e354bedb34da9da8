import type { Database } from '../postgres/database';
import type { Metrics } from '../telemetry/metrics';
import { CoreSource } from './coreSource';
import { ExhaustedLog } from './exhausted';
import { Inspector } from './inspector';
import { JetStreamSource, type SourceDeps } from './jetstreamSource';
import type { Source } from './source';

export type { Intake } from './intake';
export type { Source } from './source';

/** What a worker with handlers holds to receive from a broker. */
export interface Receiving {
  readonly source: Source;
  /** JetStream only: core NATS delivers once, and there is nothing to look after. */
  readonly inspector: Inspector | undefined;
}

/** The source that the settings name, over the broker's connection, and what looks after its messages. */
export function openReceiving(
  deps: Omit<SourceDeps, 'exhausted'> & {
    readonly db: Database;
    readonly metrics?: Metrics | undefined;
    readonly handlersFor: (type: string) => readonly string[];
  },
): Receiving {
  if (deps.config.nats.mode === 'core') return { source: new CoreSource(deps), inspector: undefined };
  const exhausted = new ExhaustedLog(deps.logger);
  const source = new JetStreamSource({ ...deps, exhausted });
  return { source, inspector: new Inspector({ ...deps, exhausted, source }) };
}
