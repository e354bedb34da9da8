import type { Build } from './spin';

/** A build of a model, and what the check must say of it. */
export interface Variant extends Build {
  /** What is different in it: the faults that may happen, or what was left out. */
  readonly name: string;
  /** Undefined: all properties hold. Else the one that the checker must find broken. */
  readonly breaks?: string;
}

/** The faults of the outbox model that may happen in one run. */
function outbox(faults: { crashes?: number; freezes?: number; refusals?: number }, ...others: string[]) {
  const { crashes = 0, freezes = 0, refusals = 0 } = faults;
  const defines = [`CRASHES=${crashes}`, `FREEZES=${freezes}`, `REFUSALS=${refusals}`, ...others];
  return { model: 'outbox', defines };
}

/** The product as it is: no fault may break a property. */
export const HOLDING: readonly Variant[] = [
  { name: 'one worker killed, commits in any order', ...outbox({ crashes: 1 }) },
  { name: 'one worker killed and one frozen', ...outbox({ crashes: 1, freezes: 1 }, 'SOON') },
  { name: 'two workers killed', ...outbox({ crashes: 2 }, 'SOON') },
  { name: 'one worker killed, one publish without an answer', ...outbox({ crashes: 1, refusals: 1 }, 'SOON') },
  { name: 'drainOnce beside the relay, one of them killed', ...outbox({ crashes: 1 }, 'SOON', 'DRAIN') },
  { name: 'drainOnce beside the relay, one of them frozen', ...outbox({ freezes: 1 }, 'SOON', 'DRAIN') },
];

/** Each property has a mutant that breaks it: a check that cannot fail would say nothing. */
export const MUTANTS: readonly Variant[] = [
  {
    name: 'mark without the token',
    ...outbox({}, 'SOON', 'MARK_WITHOUT_TOKEN'),
    breaks: 'nothing is lost',
  },
  {
    name: 'claim by high-water mark',
    ...outbox({}, 'SOON', 'CLAIM_BY_HIGH_WATER_MARK'),
    breaks: 'every event ends done or dead',
  },
  {
    name: 'publish without the id',
    ...outbox({ crashes: 1 }, 'SOON', 'PUBLISH_WITHOUT_ID'),
    breaks: 'one copy in the stream',
  },
  {
    name: 'mark before the ack',
    ...outbox({ crashes: 1 }, 'SOON', 'MARK_BEFORE_ACK'),
    breaks: 'nothing is lost',
  },
  {
    name: 'no take-over',
    ...outbox({ crashes: 1 }, 'SOON', 'NO_TAKE_OVER'),
    breaks: 'every event ends done or dead',
  },
  {
    name: 'no lease on a claim outside the fence',
    ...outbox({ crashes: 1 }, 'SOON', 'DRAIN', 'NO_LEASE'),
    breaks: 'every event ends done or dead',
  },
  {
    name: 'publish beside the transaction',
    ...outbox({}, 'SOON', 'DUAL_WRITE'),
    breaks: 'nothing that was rolled back appears',
  },
];
