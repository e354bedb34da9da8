import type { Build } from './spin';

/** A build of a model, and what the check must say of it. */
export interface Variant extends Build {
  /** What is different in it: the faults that may happen, or what was left out. */
  readonly name: string;
  /** Undefined: all properties hold. Else the one that the checker must find broken. */
  readonly breaks?: string;
}

interface OutboxFaults {
  readonly crashes?: number;
  readonly freezes?: number;
  readonly refusals?: number;
  readonly terminations?: number;
  /** Claims that a second run asks for, at the same fence; 0 for one run only. */
  readonly secondRun?: number;
}

/** The faults of the outbox model that may happen in one run. */
function outbox(faults: OutboxFaults, events: 2 | 3 = 3, ...others: string[]) {
  const { crashes = 0, freezes = 0, refusals = 0, terminations = 0, secondRun = 0 } = faults;
  const size = [`EVENTS=${events}`, `RELAYS=${secondRun > 0 ? 2 : 1}`, `TURNS=${secondRun}`];
  const may = [`CRASHES=${crashes}`, `FREEZES=${freezes}`, `REFUSALS=${refusals}`, `TERMINATIONS=${terminations}`];
  return { model: 'outbox', defines: [...size, ...may, ...others] };
}

interface HandlingFaults {
  readonly crashes?: number;
  readonly freezes?: number;
  readonly failures?: number;
  readonly lostCommits?: number;
  readonly orders?: number;
}

/** The faults of the handling model that may happen in one run. */
function handling(kind: 'transactional' | 'external', events: 1 | 3, faults: HandlingFaults, ...others: string[]) {
  const { crashes = 0, freezes = 0, failures = 0, lostCommits = 0, orders = 0 } = faults;
  const size = [`EVENTS=${events}`, `CRASHES=${crashes}`, `FREEZES=${freezes}`, `FAILURES=${failures}`];
  const defines = [...size, `LOST_COMMITS=${lostCommits}`, `ORDERS=${orders}`, ...others];
  return { model: 'handling', defines: kind === 'transactional' ? [...defines, 'TRANSACTIONAL'] : defines };
}

/** The product as it is: no fault may break a property. */
export const HOLDING: readonly Variant[] = [
  { name: 'one worker killed, commits in any order', ...outbox({ crashes: 1 }) },
  { name: 'one worker killed and one frozen', ...outbox({ crashes: 1, freezes: 1 }, 3, 'SOON') },
  { name: 'two workers killed', ...outbox({ crashes: 2 }, 3, 'SOON') },
  { name: 'one worker killed, one publish without an answer', ...outbox({ crashes: 1, refusals: 1 }, 3, 'SOON') },
  { name: 'drainOnce beside the relay, one of them killed', ...outbox({ crashes: 1 }, 3, 'SOON', 'DRAIN') },
  { name: 'drainOnce beside the relay, one of them frozen', ...outbox({ freezes: 1 }, 3, 'SOON', 'DRAIN') },
  { name: 'a run terminated, another in its place', ...outbox({ terminations: 1 }, 3, 'SOON') },
  { name: 'two runs at one fence, one worker killed', ...outbox({ crashes: 1, secondRun: 1 }, 3, 'SOON') },
  { name: 'two runs at one fence, 2 events, two claims of the second', ...outbox({ secondRun: 2 }, 2, 'SOON') },
  {
    name: 'transactional, 3 events: one worker killed, one handler throws',
    ...handling('transactional', 3, { crashes: 1, failures: 1 }),
  },
  {
    name: 'external, 3 events: one worker killed, one handler throws',
    ...handling('external', 3, { crashes: 1, failures: 1 }),
  },
  { name: 'transactional, 3 events: one worker frozen', ...handling('transactional', 3, { freezes: 1 }) },
  { name: 'external, 3 events: one worker frozen', ...handling('external', 3, { freezes: 1 }) },
  {
    name: 'transactional: killed, frozen, a throw, a commit that PostgreSQL lost',
    ...handling('transactional', 1, { crashes: 1, freezes: 1, failures: 1, lostCommits: 1 }),
  },
  {
    name: 'external: killed, frozen, a throw',
    ...handling('external', 1, { crashes: 1, freezes: 1, failures: 1 }),
  },
  {
    name: 'external: two killed, a throw, a run terminated or a re-emit',
    ...handling('external', 1, { crashes: 2, failures: 1, orders: 1 }),
  },
  {
    name: 'transactional: one killed, two throws, a run terminated or a re-emit',
    ...handling('transactional', 1, { crashes: 1, failures: 2, orders: 1 }),
  },
];

/** Too large for each time: `npm run model` and `npm run test:long`. */
export const LONG: readonly Variant[] = [
  {
    name: 'two runs at one fence, one worker frozen',
    ...outbox({ freezes: 1, secondRun: 1 }, 3, 'SOON'),
    compressed: true,
  },
  {
    name: 'transactional, 3 events: two workers killed',
    ...handling('transactional', 3, { crashes: 2 }),
    compressed: true,
  },
  {
    name: 'transactional, 3 events: one worker killed, one frozen',
    ...handling('transactional', 3, { crashes: 1, freezes: 1 }),
    compressed: true,
  },
  { name: 'external, 3 events: two workers killed', ...handling('external', 3, { crashes: 2 }), compressed: true },
];

/** Each property has a mutant that breaks it: a check that cannot fail would say nothing. */
export const MUTANTS: readonly Variant[] = [
  {
    name: 'mark without the token',
    ...outbox({}, 3, 'SOON', 'MARK_WITHOUT_TOKEN'),
    breaks: 'nothing is lost',
  },
  {
    name: 'claim by high-water mark',
    ...outbox({}, 3, 'SOON', 'CLAIM_BY_HIGH_WATER_MARK'),
    breaks: 'every event ends done or dead',
  },
  {
    name: 'publish without the id',
    ...outbox({ crashes: 1 }, 3, 'SOON', 'PUBLISH_WITHOUT_ID'),
    breaks: 'one copy in the stream',
  },
  {
    name: 'mark before the ack',
    ...outbox({ crashes: 1 }, 3, 'SOON', 'MARK_BEFORE_ACK'),
    breaks: 'nothing is lost',
  },
  {
    name: 'no take-over',
    ...outbox({ crashes: 1 }, 3, 'SOON', 'NO_TAKE_OVER'),
    breaks: 'every event ends done or dead',
  },
  {
    name: 'no lease on a claim outside the fence',
    ...outbox({ crashes: 1 }, 3, 'SOON', 'DRAIN', 'NO_LEASE'),
    breaks: 'every event ends done or dead',
  },
  {
    name: 'publish beside the transaction',
    ...outbox({}, 3, 'SOON', 'DUAL_WRITE'),
    breaks: 'nothing that was rolled back appears',
  },
  {
    name: 'a fence for each run',
    ...outbox({ secondRun: 1 }, 3, 'SOON', 'FENCE_OF_EACH_RUN'),
    breaks: 'nothing is lost',
  },
  {
    name: 'two runs, and a mark without the token',
    ...outbox({ secondRun: 1 }, 3, 'SOON', 'MARK_WITHOUT_TOKEN'),
    breaks: 'nothing is lost',
  },
  {
    name: 'ack before the hand-over',
    ...handling('external', 1, { crashes: 1, failures: 1 }, 'ACK_BEFORE_HAND_OVER'),
    breaks: 'nothing waits without an owner',
  },
  {
    name: 'ledger without the owner condition',
    ...handling('transactional', 1, { freezes: 1 }, 'LEDGER_WITHOUT_OWNER'),
    breaks: 'a transactional effect happens once',
  },
  {
    name: 'ledger without started_at in its condition',
    ...handling('external', 1, { freezes: 1, failures: 1, orders: 1 }, 'LEDGER_WITHOUT_STARTED_AT'),
    breaks: 'no more attempts than the budget',
  },
  {
    name: 'no second question after a lost claim',
    ...handling('transactional', 1, { lostCommits: 1 }, 'NO_ASK_AGAIN'),
    breaks: 'every event ends done or dead',
  },
  {
    name: 'no sweep',
    ...handling('external', 1, { failures: 1 }, 'NO_SWEEP'),
    breaks: 'nothing waits without an owner',
  },
  {
    name: 'a ledger claim without a lease',
    ...handling('external', 1, { crashes: 1 }, 'NO_LEASE'),
    breaks: 'nothing waits without an owner',
  },
  {
    name: 'a lease that ends under a worker that is well',
    ...handling('external', 1, { freezes: 1 }, 'LEASE_TOO_SHORT'),
    breaks: 'no handler runs twice at the same time',
  },
  {
    name: 'no look for messages that are given up',
    ...handling('external', 1, { crashes: 2 }, 'NO_GRAVEYARD'),
    breaks: 'nothing is lost',
  },
  {
    name: 'done before the effect',
    ...handling('external', 1, { crashes: 1 }, 'FINISH_BEFORE_EFFECT'),
    breaks: 'nothing is lost',
  },
  {
    name: 'an attempt that does not say how many were spent',
    ...handling('external', 1, { freezes: 1, failures: 1 }, 'NO_EXPECTED_ATTEMPTS'),
    breaks: 'no attempt begins before its time',
  },
  {
    name: 'a lost worker that spends no attempt',
    ...handling('external', 1, { crashes: 2 }, 'LOST_WORKER_SPENDS_NOTHING'),
    breaks: 'no more attempts than the budget',
  },
];

/** What is not guaranteed: the checker must find it, so that the page that says so stays true. */
export const GAPS: readonly Variant[] = [
  {
    name: 'transactional: a claim that PostgreSQL lost, and a worker that stands still for less than its lease',
    ...handling('transactional', 1, { freezes: 1, lostCommits: 1 }, 'LOST_COMMIT_NOT_EXCUSED'),
    breaks: 'no handler runs twice at the same time',
  },
  {
    name: 'a claim statement that is slower than all that another worker does with the event',
    ...handling('external', 1, { freezes: 1, failures: 2 }, 'STALE_SNAPSHOT_NOT_EXCUSED'),
    breaks: 'no more attempts than the budget',
  },
  {
    name: 'an attempt that stands still until its event is dead, re-emitted and has failed once',
    ...handling('external', 1, { freezes: 1, failures: 3, orders: 1 }),
    shortest: false,
    breaks: 'no attempt begins before its time',
  },
];
