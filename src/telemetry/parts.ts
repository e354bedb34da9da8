import type { Client } from '@temporalio/client';
import type { Broker } from '../broker';
import type { NatsLink } from '../broker/link';
import type { FastPath } from '../handlers/fastPath';
import type { Database } from '../postgres/database';
import type { WakeListener } from '../postgres/wake';
import type { TemporalConnection } from '../temporal/connection';

/** What a worker has of what it needs, as far as it has got; each is filled in when it is there. */
export interface Parts {
  db?: Database;
  broker?: Broker;
  /** Backend `nats`. */
  link?: NatsLink | undefined;
  wake?: WakeListener;
  fastPath?: FastPath;
  temporal?: TemporalConnection | undefined;
  client?: Client | undefined;
  /** It receives from the broker, so that there is a consumer. */
  receives?: boolean;
  polling?: boolean;
  stopping?: boolean;
}
