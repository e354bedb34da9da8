import type { Handler } from 'temporal-outbox';
import type { Connection } from '../adapters/postgres/connection';
import type { Images } from '../ports/images';
import type { Inboxes } from '../ports/inboxes';
import type { MetadataProvider } from '../ports/metadata';
import type { ObjectStore } from '../ports/objectStore';
import type { RemoteActors } from '../ports/remoteActors';
import { federationDelivery } from './federationDelivery';
import { filmEnrichment } from './filmEnrichment';
import { followBackfill } from './followBackfill';
import { imageCleanup } from './imageCleanup';
import { imageConversion } from './imageConversion';
import { inboundActivity } from './inboundActivity';
import { inboundReviewImport } from './inboundReviewImport';
import { outgoingActivity } from './outgoingActivity';
import { personEnrichment } from './personEnrichment';
import { posterSync } from './posterSync';
import { searchIndex } from './searchIndex';
import { searchRemoval } from './searchRemoval';
import { wrapUp } from './wrapUp';

export interface HandlerDeps {
  /** Transactions of its own, for handlers whose effects lie elsewhere. */
  readonly connection: Connection;
  /** As the server has it: activities and actors are named by it. */
  readonly origin: string;
  readonly remoteActors: RemoteActors;
  readonly inboxes: Inboxes;
  readonly metadata: MetadataProvider;
  readonly objects: ObjectStore;
  readonly images: Images;
}

/** Every handler of this application; each worker runs all of them. */
export function createHandlers(deps: HandlerDeps): Handler[] {
  const { connection, origin, remoteActors, inboxes, metadata, objects, images } = deps;
  return [
    federationDelivery(connection, inboxes),
    filmEnrichment(connection, metadata),
    followBackfill({ origin }),
    imageCleanup(objects),
    imageConversion(objects, images),
    inboundActivity({ origin }),
    inboundReviewImport(),
    outgoingActivity(origin, remoteActors),
    personEnrichment(connection, metadata),
    posterSync(metadata, objects),
    searchIndex(),
    searchRemoval(),
    wrapUp(connection),
  ];
}
