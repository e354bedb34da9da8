import { Context } from '@temporalio/activity';
import { reemit, type RevivedEvent } from '../deadLetters/reemit';
import { reemitAll } from '../deadLetters/reemitAll';
import { RunStarter } from '../deadLetters/startRuns';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import type { DeliveryRuns } from '../temporal/deliveryRuns';
import type { DeadLetterFilter, ReemitAllResult, ReemitRequest, ReemitResult } from '../workflows/messages';
import { heartbeating, mappingErrors, whileHeartbeating } from './heartbeating';

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

  /**
   * Goes on counting where an attempt that was lost had got to, as far as its heartbeats told. They go out by time and not
   * only by statement: one that finds little among millions outlasts their time-out, and would be begun again for ever.
   */
  async function reviveAll(filter: DeadLetterFilter, by?: AskedBy): Promise<ReemitAllResult> {
    const context = Context.current();
    const { heartbeatDetails } = context.info;
    const before = typeof heartbeatDetails === 'number' ? heartbeatDetails : 0;
    let revived = before;
    const onChunk = (count: number, deliveries: readonly RevivedEvent[]) => {
      revived = before + count;
      context.heartbeat(revived);
      starter.add(deliveries);
    };
    await whileHeartbeating(
      () => reemitAll(db.pool, filter, { schema: db.schema, onChunk }),
      () => revived,
    );
    logger.info({ by, revived, refused: 0, ...filter }, REEMITTED);
    return { revived };
  }

  return {
    reemit: heartbeating(revive),
    reemitAll: mappingErrors(reviveAll),
  };
}
