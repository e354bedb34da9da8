import {
  AckPolicy,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type ConsumerInfo,
  type JetStreamManager,
  type StreamInfo,
} from '@nats-io/jetstream';
import { nanos, type NatsConnection } from 'nats';
import type { Config } from '../config';
import type { Logger } from '../logger';
import { sortFailure } from './failures';

const SEVEN_DAYS_MS = 7 * 24 * 3_600_000;

/** What publishing needs to know of the stream. */
export interface Topology {
  /** JetStream's atomic batches may be used. An existing stream without them is left as it is. */
  readonly atomic: boolean;
  /** Bytes, headers included; -1 for no limit of the stream's own. */
  readonly maxMessageSize: number;
}

/**
 * Creates the stream and its durable consumer when absent. Of existing ones only `duplicate_window`, `max_deliver` and
 * `ack_wait` are changed, on the live configuration, so that whatever an operator set stays. A refused change is a
 * warning that names the setting and the command, and no reason not to start.
 *
 * @param told warnings given before, which a further run does not repeat
 * @throws Error when JetStream is off, or the subjects belong to another stream
 */
export async function ensureTopology(
  connection: NatsConnection,
  config: Config,
  logger: Logger,
  told = new Set<string>(),
): Promise<Topology> {
  const warnOnce = (message: string) => {
    if (!told.has(message)) logger.warn(message);
    told.add(message);
  };
  let manager: JetStreamManager;
  try {
    manager = await jetstreamManager(connection);
  } catch (error) {
    throw new Error('JetStream does not answer; start nats-server with -js, or set NATS_MODE=core', { cause: error });
  }
  const stream = await ensureStream(manager, config, logger, warnOnce);
  try {
    await ensureConsumer(manager, config, logger, warnOnce);
  } catch (error) {
    const { kind, reason } = sortFailure(error, config.nats.stream);
    if (kind === 'away' || kind === 'unanswered') throw error;
    // Nobody may be reading yet: events that are not published for want of a reader would be worse.
    const { stream: name, durable, ackWaitMs } = config.nats;
    warnOnce(
      `The consumer ${durable} of stream ${name} cannot be created: ${reason}. Events are published all the same. Create it with: ` +
        `nats consumer add ${name} ${durable} --pull --ack=explicit --max-deliver=${config.maxAttempts} --wait=${ackWaitMs / 1_000}s --defaults`,
    );
  }
  return topologyOf(stream);
}

/** What an operator may have changed since. @throws when JetStream does not answer within two seconds */
export async function readTopology(connection: NatsConnection, stream: string): Promise<Topology> {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: 2_000 });
  return topologyOf(await manager.streams.info(stream));
}

function topologyOf({ config }: StreamInfo): Topology {
  return { atomic: config.allow_atomic === true, maxMessageSize: config.max_msg_size };
}

async function ensureStream(
  manager: JetStreamManager,
  config: Config,
  logger: Logger,
  warnOnce: Warn,
): Promise<StreamInfo> {
  const { stream, subjectPrefix, duplicateWindowMs } = config.nats;
  const live = await manager.streams.info(stream).catch(absent);
  if (!live) {
    try {
      return await manager.streams.add({
        name: stream,
        subjects: [`${subjectPrefix}.>`],
        retention: RetentionPolicy.Limits,
        storage: StorageType.File,
        max_age: nanos(SEVEN_DAYS_MS),
        duplicate_window: nanos(duplicateWindowMs),
        allow_atomic: true,
      });
    } catch (error) {
      // Another worker made it at the same moment.
      const made = await manager.streams.info(stream).catch(absent);
      if (made) return made;
      throw new Error(`the stream ${stream} cannot be created for ${subjectPrefix}.>: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
  const wanted = nanos(duplicateWindowMs);
  if (live.config.duplicate_window === wanted) return live;
  const change = `duplicate_window from ${seconds(live.config.duplicate_window)} to ${seconds(wanted)}`;
  const command = `nats stream edit ${stream} --dupe-window=${seconds(wanted)}`;
  return (
    (await changed(logger, warnOnce, `stream ${stream}`, change, command, () =>
      manager.streams.update(stream, { ...live.config, duplicate_window: wanted }),
    )) ?? live
  );
}

async function ensureConsumer(
  manager: JetStreamManager,
  config: Config,
  logger: Logger,
  warnOnce: Warn,
): Promise<void> {
  const { stream, durable, ackWaitMs } = config.nats;
  const wanted = { max_deliver: config.maxAttempts, ack_wait: nanos(ackWaitMs) };
  const live: ConsumerInfo | undefined = await manager.consumers.info(stream, durable).catch(absent);
  if (!live) {
    // Adding a consumer that exists with the same settings is no error, so a race with another worker is harmless.
    await manager.consumers.add(stream, { durable_name: durable, ack_policy: AckPolicy.Explicit, ...wanted });
    return;
  }
  const changes: string[] = [];
  const flags: string[] = [];
  if (live.config.max_deliver !== wanted.max_deliver) {
    changes.push(`max_deliver from ${live.config.max_deliver ?? -1} to ${wanted.max_deliver}`);
    flags.push(`--max-deliver=${wanted.max_deliver}`);
  }
  if (live.config.ack_wait !== wanted.ack_wait) {
    changes.push(`ack_wait from ${seconds(live.config.ack_wait ?? 0)} to ${seconds(wanted.ack_wait)}`);
    flags.push(`--wait=${seconds(wanted.ack_wait)}`);
  }
  if (changes.length === 0) return;
  await changed(
    logger,
    warnOnce,
    `consumer ${durable} of stream ${stream}`,
    changes.join(', '),
    `nats consumer edit ${stream} ${durable} ${flags.join(' ')}`,
    () => manager.consumers.update(stream, durable, { ...live.config, ...wanted }),
  );
}

type Warn = (message: string) => void;

async function changed<T>(
  logger: Logger,
  warnOnce: Warn,
  what: string,
  change: string,
  command: string,
  update: () => Promise<T>,
): Promise<T | undefined> {
  try {
    const result = await update();
    logger.warn(`The ${what} existed with other settings: changed ${change}. Nothing else was touched.`);
    return result;
  } catch (error) {
    warnOnce(
      `The ${what} needs ${change}, but the broker refused: ${(error as Error).message}. Change it with: ${command}`,
    );
    return undefined;
  }
}

/** A 404 of the JetStream API; anything else is thrown on. */
function absent(error: unknown): undefined {
  const name = error instanceof Error ? error.name : '';
  const status = (error as { status?: unknown }).status;
  if (name === 'StreamNotFoundError' || name === 'ConsumerNotFoundError' || status === 404) return undefined;
  throw error;
}

function seconds(nanoseconds: number): string {
  return `${nanoseconds / 1e9}s`;
}
