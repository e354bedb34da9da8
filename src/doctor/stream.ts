import { nanos } from 'nats';
import { RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { readDurables, readStreamInfo } from '../broker/streamState';
import { fault, ok, usesStream, warning, type Check, type Found } from './finding';

export const stream: Check = {
  name: 'stream',
  concerns: usesStream,
  look: async (patient) => {
    const { stream: name, subjectPrefix, duplicateWindowMs } = patient.config.nats;
    const { connection } = await patient.nats();
    const info = connection && (await readStreamInfo(connection, name));
    if (!info) {
      return [
        fault(
          `There is no stream ${name}.`,
          `Start a worker, which creates it (outbox worker), or let OUTBOX_STREAM name the one that there is: nats stream ls`,
        ),
      ];
    }
    const { config } = info;
    const edit = `nats stream edit ${name}`;
    const found: Found[] = [];
    if (!config.subjects.some((subject) => covers(subject, subjectPrefix))) {
      const subjects = config.subjects.join(', ');
      const some = config.subjects.filter((subject) => subject.startsWith(`${subjectPrefix}.`));
      const wider = [...config.subjects.filter((subject) => !some.includes(subject)), `${subjectPrefix}.>`].join(',');
      found.push(
        some.length > 0
          ? warning(
              `The stream ${name} takes ${subjects}, and not all of ${subjectPrefix}.>: events of other types are deferred.`,
              `If that is not meant, run: ${edit} --subjects=${wider}`,
            )
          : fault(
              `The stream ${name} takes ${subjects}, and not ${subjectPrefix}.>, so nothing that is published reaches it.`,
              `Set OUTBOX_SUBJECT_PREFIX to what it takes, or run: ${edit} --subjects=${wider}`,
            ),
      );
    }
    if (config.duplicate_window !== nanos(duplicateWindowMs)) {
      found.push(
        warning(
          `The stream drops duplicates for ${Number(config.duplicate_window) / 1e9} s, and this build wants ${duplicateWindowMs / 1_000} s.`,
          `Run: ${edit} --dupe-window=${duplicateWindowMs / 1_000}s`,
        ),
      );
    }
    if (config.retention !== RetentionPolicy.Limits) {
      found.push(
        warning(
          `The stream has ${config.retention} retention: what is acknowledged goes, and \`outbox reconcile\` cannot judge it.`,
          'Use a stream with limits retention; it cannot be changed on one that exists.',
        ),
      );
    }
    if (config.storage !== StorageType.File)
      found.push(warning('The stream is kept in memory, and is lost with its server.', 'Use a stream with file storage; it cannot be changed on one that exists.')); // prettier-ignore
    if (config.sealed) found.push(fault('The stream is sealed, and takes nothing.', 'Use another stream.'));
    if (config.allow_atomic !== true)
      found.push(warning('The stream does not allow atomic batches, so backlogs go out one by one.', `Run: ${edit} --allow-batch`)); // prettier-ignore
    const others = (await readDurables(connection, name)).filter((durable) => isForeign(durable, patient.config.nats));
    if (others.length > 0) {
      found.push(
        warning(
          `The stream ${name} also has ${others.join(', ')} of another installation: each handles the events of both.`,
          `Give each its own OUTBOX_STREAM and OUTBOX_SUBJECT_PREFIX. If it is no more, run: nats consumer rm ${name} ${others[0]}`,
        ),
      );
    }
    found.push(...fullness(info.config, info.state, edit));
    return found.some(({ level }) => level === 'fault') ? found : [ok(`The stream ${name} is there, with ${info.state.messages} messages.`), ...found]; // prettier-ignore
  },
};

/** Named as another schema's would be. */
function isForeign(durable: string, mine: { readonly durable: string }): boolean {
  return durable !== mine.durable && /^outbox(-[a-z_][a-z0-9_]*)?$/.test(durable);
}

/** Nearly full: a stream that discards the old loses events that nobody has read; one that discards the new defers all. */
function fullness(
  limits: { readonly max_msgs: number; readonly max_bytes: number; readonly discard: string },
  state: { readonly messages: number; readonly bytes: number },
  edit: string,
): Found[] {
  const parts: [string, number, number][] = [
    ['--max-msgs', state.messages, limits.max_msgs],
    ['--max-bytes', state.bytes, limits.max_bytes],
  ];
  return parts
    .filter(([, has, limit]) => limit > 0 && has > 0.9 * limit)
    .map(([flag, has, limit]) =>
      warning(
        `The stream holds ${has} of at most ${limit} (${flag}), and discards ${limits.discard === 'new' ? 'new events' : 'its oldest'} when it is full.`,
        `Run: ${edit} ${flag}=${2 * limit}`,
      ),
    );
}

/** Whether all that is published under the prefix has such a subject. */
export function covers(subject: string, prefix: string): boolean {
  return subject === '>' || subject === `${prefix}.>` || subject === `${prefix}.*.*` || subject === '*.>' || subject === '*.*.*'; // prettier-ignore
}
