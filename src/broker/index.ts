import type { Config } from '../config';
import type { Logger } from '../logger';
import type { Broker } from './broker';
import { CoreBroker } from './core';
import { JetStreamBroker } from './jetstream';
import type { NatsLink } from './link';

export type { Broker, Outcome, Settle } from './broker';

/** A broker with its connection, which the receiving half uses too. */
export type NatsBroker = Broker & { readonly link: NatsLink };

/**
 * The broker that the settings name, connected in the background: one that is late or away is not an error here.
 *
 * @throws Error when the broker refuses the credentials
 */
export async function openBroker(config: Config, logger: Logger): Promise<NatsBroker> {
  if (config.nats.mode === 'core') {
    logger.warn(
      'NATS_MODE=core: no stream, no redelivery, no dropping of duplicates; who does not listen misses the event.',
    );
  }
  const broker = config.nats.mode === 'core' ? new CoreBroker(config, logger) : new JetStreamBroker(config, logger);
  await broker.start();
  return broker;
}
