import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/markdown';
import { BOTH, pointsOf, type Point } from './point';

const NATS = ['nats'] as const;
const DB = ['db'] as const;
/** None plays a part in it. */
const NONE = [] as const;

const MIGRATIONS = readdirSync(join(ROOT, 'migrations'))
  .filter((file) => file.endsWith('.sql'))
  .sort()
  .map((file) => `sql migrate ${file.slice(0, -'.sql'.length)}`);

/** Every effect of the package that a kill could leave half done, but for those of `elsewhere.ts`. */
export const POINTS: readonly Point[] = [
  ...pointsOf('claim', BOTH, {
    'sql raise fence': [],
    'sql take over': [],
    'sql reclaim leases': [],
    'sql claim': [],
  }),
  ...pointsOf('claim', NATS, { 'sql claim probe': [] }),

  ...pointsOf('publish', NATS, {
    'nats publish': ['broker/jetstream.ts publishOne publish'],
    'nats batch begin': ['broker/atomicBatch.ts sendBatch startBatch'],
    'nats batch add': ['broker/atomicBatch.ts sendBatch add'],
    'nats batch commit': ['broker/atomicBatch.ts sendBatch commit'],
  }),

  ...pointsOf('mark', BOTH, { 'sql mark done': [], 'sql mark some done': [], 'sql free': [], 'sql wake relay': [] }),
  ...pointsOf('mark', NATS, { 'sql defer': [], 'sql put back probe': [], 'sql free deferred': [], 'sql bury': [] }),
  ...pointsOf('mark', DB, { 'sql leave to runs': [], 'sql settle row': [] }),

  ...pointsOf('receive', NATS, {
    'nats CONSUMER.MSG.NEXT': ['consumer/pull.ts want publish', 'consumer/pull.ts constructor subscribe'],
    'nats message': [],
    'nats drain': ['consumer/pull.ts close drain'],
    // One function sends all three, another the acknowledgement of what is buried.
    'nats +ACK': ['consumer/acks.ts publish publish', 'consumer/graveyard.ts acknowledge publish'],
    'nats +WPI': [],
    'nats -NAK': [],
    'nats advisories CONSUMER.MSG.NEXT': ['consumer/advisories.ts look fetch'],
    'nats advisories +ACK': ['consumer/advisories.ts settle ack'],
    'nats advisories -NAK': ['consumer/advisories.ts settle nak'],
    'nats advisories +TERM': ['consumer/advisories.ts look term'],
    'sql record exhausted': [],
  }),

  ...pointsOf('fast path', BOTH, {
    'sql claim ledger': [],
    'handler begin': ['handlers/runHandler.ts enter run'],
    'handler middle': [],
    'handler end': [],
    'sql finish ledger': [],
    'sql commit handler': [],
    'sql release ledger': [],
    'sql renew ledger': [],
    'sql hand over': [],
    'temporal SignalWithStartWorkflowExecution deliverEvent': [
      'temporal/deliveryRuns.ts signalWithStart signalWithStart',
    ],
  }),

  ...pointsOf('delivery run', BOTH, {
    'sql begin attempt': [],
    'sql finish attempt': [],
    'sql drop delivery': [],
    'sql end attempt': [],
    'sql take orphans': [],
    'sql forsake orphans': [],
    'sql skip': [],
  }),
  ...pointsOf('delivery run', DB, { 'sql revive rows': [] }),

  ...pointsOf('re-emit', BOTH, {
    'sql re-emit': [],
    'sql re-emit all of handlers': [],
    'sql re-emit all of the relay': [],
    'temporal UpdateWorkflowExecution reemit': ['commands/reemit.ts revive executeUpdate'],
    'temporal UpdateWorkflowExecution reemitAll': ['commands/reemit.ts reviveAll executeUpdate'],
  }),

  ...pointsOf('prune', BOTH, {
    'sql prune ledger': [],
    'sql prune done rows': [],
    'sql prune deliveries': [],
    'sql prune dead rows': [],
    'sql commit prune': [],
    archive: ['retention/archive.ts putAway archive'],
  }),

  ...pointsOf('migrate', NONE, {
    'sql lock migration': [],
    'sql create schema': [],
    'sql create version table': [],
    ...Object.fromEntries(MIGRATIONS.map((name) => [name, []])),
    'sql record migration': [],
    'sql commit migration': [],
    'sql end migrations': [],
  }),

  ...pointsOf('start', BOTH, {
    'sql record handlers': [],
    'sql stamp handlers': [],
    'sql prove listening': [],
    'temporal StartWorkflowExecution relay': ['temporal/relayStart.ts startRelay start'],
    'temporal CreateSchedule': ['temporal/maintenanceSchedule.ts ensureMaintenanceSchedule create'],
    'temporal UpdateSchedule': ['temporal/maintenanceSchedule.ts ensureMaintenanceSchedule update'],
  }),
  ...pointsOf('start', NATS, {
    'nats STREAM.CREATE': ['broker/topology.ts ensureStream add'],
    'nats STREAM.UPDATE': ['broker/topology.ts ensureStream update'],
    // The server has one call for both.
    'nats CONSUMER.CREATE': ['broker/topology.ts ensureConsumer add', 'broker/topology.ts ensureConsumer update'],
    'nats advisories STREAM.CREATE': ['consumer/advisories.ts capture add'],
    'nats advisories STREAM.UPDATE': ['consumer/advisories.ts capture update'],
    'nats advisories CONSUMER.CREATE': ['consumer/advisories.ts ready add'],
    'temporal SignalWithStartWorkflowExecution consumer': ['temporal/consumerStart.ts joinConsumer signalWithStart'],
  }),
];
