import { AckPolicy } from '@nats-io/jetstream';
import { nanos } from 'nats';
import { readConsumerInfo } from '../broker/streamState';
import { fault, ok, usesStream, warning, type Check, type Found } from './finding';
import { covers } from './stream';

export const durable: Check = {
  name: 'consumer',
  concerns: usesStream,
  look: async (patient) => {
    const { stream, durable: name, ackWaitMs, subjectPrefix } = patient.config.nats;
    const { maxAttempts } = patient.config;
    const { connection } = await patient.nats();
    const info = connection && (await readConsumerInfo(connection, stream, name));
    if (!info) {
      return [
        fault(
          `The stream ${stream} has no consumer ${name}, which gives events to the handlers.`,
          `Start a worker, which creates it (outbox worker), or run: nats consumer add ${stream} ${name} --pull --ack=explicit --max-deliver=${maxAttempts} --wait=${ackWaitMs / 1_000}s --defaults`,
        ),
      ];
    }
    const { config } = info;
    const again = `Delete it while no worker runs, and start one: nats consumer rm ${stream} ${name}`;
    const found: Found[] = [];
    if (config.ack_policy !== AckPolicy.Explicit)
      found.push(fault(`The consumer ${name} acknowledges by ${config.ack_policy}, and this build each message.`, again)); // prettier-ignore
    if (config.deliver_subject !== undefined)
      found.push(fault(`The consumer ${name} pushes, and this build pulls.`, again));
    const filters = config.filter_subject === undefined ? (config.filter_subjects ?? []) : [config.filter_subject];
    if (filters.length > 0 && !filters.some((filter) => covers(filter, subjectPrefix))) {
      found.push(warning(`The consumer ${name} gives out ${filters.join(', ')} only; other events are not handled.`, `If that is not meant, run: nats consumer edit ${stream} ${name} --filter=''`)); // prettier-ignore
    }
    const flags = [
      config.max_deliver === maxAttempts ? '' : `--max-deliver=${maxAttempts}`,
      config.ack_wait === nanos(ackWaitMs) ? '' : `--wait=${ackWaitMs / 1_000}s`,
    ].filter(Boolean);
    if (flags.length > 0) {
      found.push(
        warning(
          `The consumer ${name} has max_deliver ${config.max_deliver ?? -1} and ack_wait ${Number(config.ack_wait ?? 0) / 1e9} s, and this build wants ${maxAttempts} and ${ackWaitMs / 1_000} s.`,
          `Start a worker, which changes it, or run: nats consumer edit ${stream} ${name} ${flags.join(' ')}`,
        ),
      );
    }
    if (info.paused)
      found.push(warning(`The consumer ${name} is paused, so nothing is handled.`, `Run: nats consumer resume ${stream} ${name}`)); // prettier-ignore
    const counts = `${info.num_pending} not delivered, ${info.num_ack_pending} in hand`;
    return found.some(({ level }) => level === 'fault') ? found : [ok(`The consumer ${name} is there: ${counts}.`), ...found]; // prettier-ignore
  },
};
