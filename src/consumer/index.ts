import { CoreSource } from './coreSource';
import { JetStreamSource, type SourceDeps } from './jetstreamSource';
import type { Source } from './source';

export type { Intake } from './intake';
export type { Source } from './source';

/** The source that the settings name, over the broker's connection. */
export function openSource(deps: SourceDeps): Source {
  return deps.config.nats.mode === 'core' ? new CoreSource(deps) : new JetStreamSource(deps);
}
