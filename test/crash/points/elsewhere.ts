/** An effect without a point, and why it needs none. */
export interface Elsewhere {
  /** As `effectNames.mjs` calls it; absent: no worker and no command under test comes there. */
  readonly name?: string;
  readonly source: readonly string[];
  readonly why: string;
}

const carrier = 'sends on what has its name, and its point, where it is written';

export const ELSEWHERE: readonly Elsewhere[] = [
  {
    source: [
      ...['postgres/database.ts databaseOver query', 'postgres/database.ts databaseOver query 2'],
      ...['postgres/database.ts databaseOver query 3', 'retention/transaction.ts inShortTransaction query'],
      ...['handlers/transaction.ts openOn query 2', 'postgres/bounded.ts bounded query'],
    ],
    why: carrier,
  },
  {
    source: ['handlers/transaction.ts openOn query'],
    why: 'the statement of a handler: killed in the middle of one, it is rolled back with the rest',
  },
  {
    name: 'sql enqueue',
    source: ['sql enqueue'],
    why: "in the producer's transaction: there with its data or not at all",
  },
  {
    name: 'sql commit import',
    source: ['sql commit import'],
    why: 'one transaction for each part of a file, after which `outbox enqueue` says from which line to go on',
  },
  {
    name: 'sql skip',
    source: ['sql skip'],
    why: 'an order of an operator, in one statement; what it leaves to a run or the sweep is what a re-emit leaves',
  },
  {
    source: ['sql forget handler', 'sql skip for forgotten handler'],
    why: 'an order of an operator, repeated until it says that it is done',
  },
  {
    source: ['sql hand over unhandled'],
    why: '`outbox reconcile --mend`, in one statement; the sweep starts its runs',
  },
  {
    name: 'sql record archive',
    source: ['sql record archive'],
    why: 'one flag of the installation, written at each start of a worker that has an archive',
  },
  {
    name: 'sql forsake orphans',
    source: ['sql forsake orphans'],
    why: 'makes the next sweep come sooner; without it the delivery is an orphan all the same, some seconds later',
  },
  {
    source: ['commands/pause.ts runPause executeUpdate', 'commands/resume.ts runResume executeUpdate'],
    why: 'an order of an operator to the relay, whose history has it or not',
  },
  {
    name: 'temporal SignalWorkflowExecution retryNow',
    source: ['cli/deliveryRun.ts connectDeliveryRun signal'],
    why: 'ends a wait of a delivery run; lost, the wait ends by itself',
  },
  {
    name: 'temporal SignalWorkflowExecution wake',
    source: ['temporal/identity.ts wake signal'],
    why: 'ends a wait of relay or consumer early; lost, the wait ends by itself',
  },
  {
    name: 'temporal SignalWorkflowExecution reemit',
    source: [],
    why: 'sent by tests, as an operator does',
  },
  {
    name: 'temporal AddSearchAttributes',
    source: ['temporal/searchAttributes.ts registerSearchAttributes addSearchAttributes'],
    why: 'filters of the Temporal UI, once for a namespace; whatever is missing the next start registers',
  },
  {
    name: 'nats advisories STREAM.UPDATE',
    source: ['consumer/advisories.ts capture update'],
    why: 'two schemas on one stream; one request, made again by the next look',
  },
  {
    source: [
      'broker/core.ts send publish',
      ...['consumer/coreSource.ts subscribe subscribe', 'consumer/coreSource.ts close unsubscribe'],
    ],
    why: 'core NATS stores nothing and promises nothing of what is under way when a worker dies',
  },
  {
    source: ['broker/readHeaders.ts readHeaders fetch'],
    why: '`outbox reconcile` reads by a consumer of its own without acknowledgements, which the server forgets',
  },
];
