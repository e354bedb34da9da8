/** An effect without a point, and why it needs none. */
export interface Elsewhere {
  /** As `effectNames.mjs` calls it; absent: no worker and no command under test comes there. */
  readonly name?: string;
  readonly source: readonly string[];
  readonly why: string;
}

const carrier = 'sends on what has its name, and its point, where it is written';
const ephemeral =
  'reads by a consumer of its own without acknowledgements, which holds no message back and which the server forgets';

export const ELSEWHERE: readonly Elsewhere[] = [
  {
    source: [
      ...['postgres/database.ts databaseOver query', 'postgres/database.ts databaseOver query 2'],
      ...['postgres/database.ts databaseOver query 3', 'retention/transaction.ts inShortTransaction query'],
      ...['handlers/transaction.ts openOn query 2', 'postgres/bounded.ts bounded query'],
      ...['ledger/leases.ts renew query', 'activities/deliverer.ts run query', 'retention/shelf.ts find run'],
      ...['retention/shelf.ts remove run', 'retention/shelf.ts remove run 2', 'retention/shelf.ts remove run 3'],
      ...[
        'retention/shelf.ts count run',
        'retention/archive.ts readLines run',
        'retention/prune.ts countPrunable query',
      ],
      'handlers/bookkeeping.ts constructor query',
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
    source: ['consumer/coreSource.ts subscribe subscribe', 'consumer/coreSource.ts close unsubscribe'],
    why: 'the membership of a queue group, which belongs to the connection and ends with the process',
  },
  {
    source: ['broker/core.ts send publish'],
    why: 'core NATS promises nothing of what a worker that dies has sent or was about to; its row is taken over as any other',
  },
  {
    source: [
      ...['subscribe', 'publish', 'unsubscribe'].map((method) => `consumer/holders.ts heldOf ${method}`),
      ...['consumer/holders.ts listen subscribe', 'consumer/holders.ts answer respond'],
    ],
    why: 'a question to the other workers, which stores nothing; who dies over it is asked no more, or asks anew',
  },
  {
    source: ['consumer/advisories.ts ready get'],
    why: 'asks for a consumer by its name, which makes none: that is done, and has its point, where it says so',
  },
  {
    source: ['get', 'fetch', 'delete'].map((method) => `broker/readHeaders.ts readHeaders ${method}`),
    why: `\`outbox reconcile\` ${ephemeral}`,
  },
  {
    source: ['broker/findMessage.ts search get', 'broker/findMessage.ts search consume'],
    why: `\`outbox show\` ${ephemeral}`,
  },
];
