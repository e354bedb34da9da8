import { DeliverPolicy, type ConsumerInfo } from '@nats-io/jetstream';

/** An operator may have given the consumer a filter: what it leaves out is nobody's to handle. */
export function takesSubject({ config }: Pick<ConsumerInfo, 'config'>, subject: string): boolean {
  const filters = config.filter_subjects ?? (config.filter_subject ? [config.filter_subject] : []);
  return filters.length === 0 || filters.some((filter) => matches(filter.split('.'), subject.split('.')));
}

/** Whether a message is ever given out: an operator's consumer may begin later than the stream does. */
export function isGiven(
  consumer: Pick<ConsumerInfo, 'config' | 'created'>,
  { subject, sequence, at }: { readonly subject: string; readonly sequence: number; readonly at: Date },
): boolean {
  const { deliver_policy: policy, opt_start_seq: startSequence, opt_start_time: startTime } = consumer.config;
  if (!takesSubject(consumer, subject)) return false;
  if (policy === DeliverPolicy.All) return true;
  if (policy === DeliverPolicy.StartSequence) return sequence >= (startSequence ?? 0);
  const from = policy === DeliverPolicy.StartTime && startTime !== undefined ? startTime : consumer.created;
  return at.getTime() >= Date.parse(from);
}

function matches(filter: readonly string[], subject: readonly string[]): boolean {
  const last = filter.length - 1;
  if (filter[last] === '>') return subject.length > last && matches(filter.slice(0, last), subject.slice(0, last));
  return filter.length === subject.length && filter.every((token, index) => token === '*' || token === subject[index]);
}
