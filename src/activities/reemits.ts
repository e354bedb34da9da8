import { Context } from '@temporalio/activity';
import { reemit } from '../deadLetters/reemit';
import { reemitAll } from '../deadLetters/reemitAll';
import { RunStarter } from '../deadLetters/startRuns';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import type { DeliveryRuns } from '../temporal/deliveryRuns';
import type { DeadLetterFilter, ReemitAllResult, ReemitRequest, ReemitResult } from '../workflows/messages';
import { heartbeating, mappingErrors } from './heartbeating';

export interface ReemitDeps {
  readonly db: Database;
  readonly logger: Logger;
  /** Starts the runs of re-emitted deliveries at once; without it the sweep does. */
  readonly runs?: Pick<DeliveryRuns, 'start'>;
}

const REEMITTED = 'Re-emitted dead letters';
/** Event ids on one line, so that a search for one finds who revived it; more would be a line that nobody reads. */
const NAMED_IDS = 20;
/** How the relay was asked for a re-emit; a run of an older build does not say. */
type AskedBy = 'signal' | 'update';

/** Dead letters come back, and one line for each order says how many, and by which way. */
export function createReemitActivities({ db, logger, runs }: ReemitDeps) {
  const starter = new RunStarter(runs, logger);

  async function revive({ ids, handler }: ReemitRequest, by?: AskedBy): Promise<ReemitResult> {
    const { revived, refused, deliveries } = await reemit(db.pool, ids, { schema: db.schema, handler });
    starter.add(deliveries);
    const counts = { by, revived: revived.length, refused: refused.length, handler, reason: refused[0]?.reason };
    logger.info({ ...counts, eventIds: revived.slice(0, NAMED_IDS) }, REEMITTED);
    return { revived, refused };
  }

  /** Goes on counting where an attempt that was lost had got to, as far as its heartbeats told. */
  async function reviveAll(filter: DeadLetterFilter, by?: AskedBy): Promise<ReemitAllResult> {
    const { heartbeatDetails } = Context.current().info;
    const before = typeof heartbeatDetails === 'number' ? heartbeatDetails : 0;
    const { revived } = await reemitAll(db.pool, filter, {
      schema: db.schema,
      onChunk: (count, deliveries) => {
        Context.current().heartbeat(before + count);
        starter.add(deliveries);
      },
    });
    logger.info({ by, revived: before + revived, refused: 0, ...filter }, REEMITTED);
    return { revived: before + revived };
  }

  return {
    reemit: heartbeating(revive),
    // Its own heartbeats carry the count; one statement of it is far shorter than their time-out.
    reemitAll: mappingErrors(reviveAll),
  };
}
